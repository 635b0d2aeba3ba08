// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"

namespace rest_fcgi::netapi {

/// All open event streams: limits their number and ends those whose session has ended. A thread, started with
/// the first stream, asks the master about the token of each stream every half second. A stream ends if its
/// token was revoked or if its user may no longer see events, and it shows other events if the user's
/// permissions change. If the master does not answer, streams go on until the token expires. A second thread
/// runs the calls that streams make (`Subscription::call`). One object serves all applications and survives
/// reloads. Thread-safe.
class StreamRegistry : public std::enable_shared_from_this<StreamRegistry> {
 public:
  /// `clock` must outlive this object.
  explicit StreamRegistry(const Clock& clock) : clock_(clock) {}
  ~StreamRegistry();
  StreamRegistry(const StreamRegistry&) = delete;
  StreamRegistry& operator=(const StreamRegistry&) = delete;

  /// Sets the client and the limits for future checks; open streams continue.
  void use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits);

  /// Ends all streams that were opened with this token, which was revoked.
  void end_streams(SecretView token);

 private:
  struct TokenGroup;

 public:
  /// The registration of one open stream, until it is destroyed. Used by one thread at a time.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    struct Answer {
      std::string subject;
      Json answer;
    };

    /// Changes since the last call of `poll`.
    struct Update {
      std::optional<master::EventPermit> permit;  ///< set if the user may now see other events
      std::string end_reason;                     ///< why the stream has to end; empty: it continues
      std::vector<Answer> answers{};              ///< results of finished calls
    };
    /// Returns the changes since the last call. `wake` is called when there are new ones.
    [[nodiscard]] Update poll(const http::Wake& wake);

    using Call =
        std::function<Json(const client::NetapiClient& client, SecretView token, std::string_view chunk)>;
    /// Queues `call` with the argument `chunk` for another thread, in the name of the stream's user. If
    /// `subject` is not empty, `poll` returns the result. An equal call that is queued for the same token is
    /// run only once. The call is dropped if too many are queued. The result is null if the session has
    /// ended.
    void call(std::string chunk, Call call, std::string subject = {});

   private:
    friend class StreamRegistry;
    Subscription(std::shared_ptr<StreamRegistry> streams, std::shared_ptr<TokenGroup> group)
        : streams_(std::move(streams)), group_(std::move(group)) {}

    const std::shared_ptr<StreamRegistry> streams_;
    const std::shared_ptr<TokenGroup> group_;
    unsigned changes_ = 0;         ///< changes of the token group that this stream has seen
    http::Wake wake_;              // guarded by the mutex of streams_
    std::vector<Answer> answers_;  // guarded by the mutex of streams_
  };

  /// Registers a stream. Errors: unavailable, if there are too many; internal, if no thread can be started.
  [[nodiscard]] Result<std::unique_ptr<Subscription>> open(const master::Session& session,
                                                           const master::EventPermit& permit);

 private:
  struct QueuedCall {
    std::shared_ptr<TokenGroup> group;
    std::string chunk;
    Subscription::Call call;
    std::vector<std::pair<Subscription*, std::string>>
        subscribers;  ///< streams that want the result, each with its subject
  };

  [[nodiscard]] Result<void> start_threads();
  void check_loop();
  void call_loop();
  void answer(std::unique_lock<std::mutex>& lock);
  void check_all(const client::NetapiClient& client);
  [[nodiscard]] bool check(const client::NetapiClient& client, TokenGroup& group, SteadyTime deadline);
  void change_and_wake(TokenGroup& group, const std::function<void()>& change);
  [[nodiscard]] SteadyTime next_check() const;
  [[nodiscard]] std::shared_ptr<TokenGroup> find(SecretView token) const;
  [[nodiscard]] std::shared_ptr<TokenGroup> group_of(const master::Session& session,
                                                     const master::EventPermit& permit);

  const Clock& clock_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::shared_ptr<const client::NetapiClient> client_;
  StreamLimits limits_;
  std::vector<std::shared_ptr<TokenGroup>> groups_;
  std::size_t open_ = 0;
  std::deque<QueuedCall> queue_;    ///< the first one is being run
  bool has_dropped_calls_ = false;  ///< calls were dropped since the queue was last empty
  SteadyTime last_check_{};
  bool check_now_ = false;
  bool has_new_stream_ = false;  ///< a stream was opened
  bool stopping_ = false;
  std::weak_ptr<const TokenGroup>
      unanswered_;  ///< of the last check that got no answer; used by check_loop alone
  Thread check_thread_;
  Thread call_thread_;
};

}  // namespace rest_fcgi::netapi
