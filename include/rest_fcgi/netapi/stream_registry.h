// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"

namespace rest_fcgi::netapi {

/// The open event streams of all applications. Every half second, a thread asks the master about the token of
/// each stream. The thread ends a stream if its token was revoked or if its user may no longer see events. If
/// the master does not answer, a stream continues until its token expires. A second thread runs the calls
/// that `Subscription::call` queues. The registry outlives a reload of the configuration. Thread-safe.
class StreamRegistry : public std::enable_shared_from_this<StreamRegistry> {
 public:
  /// `clock` must outlive this object.
  explicit StreamRegistry(const Clock& clock) : clock_(clock) {}
  ~StreamRegistry();
  StreamRegistry(const StreamRegistry&) = delete;
  StreamRegistry& operator=(const StreamRegistry&) = delete;

  /// Sets the client and the limits. Open streams continue, but later checks use the new client and limits.
  void use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits);

  /// Ends all streams with the token. REQUIRES: the token was revoked.
  void end_streams(SecretView token);

 private:
  struct TokenGroup;

 public:
  /// The registration of one open stream. The destructor ends the registration. Used by one thread at a time.
  class Subscription {
   public:
    ~Subscription();
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

    struct Answer {
      std::string subject;
      Json answer;
    };

    struct Update {
      /// The new permit, if the events that the user may see have changed.
      std::optional<master::EventPermit> permit;
      std::string end_reason;         ///< `end_reason` says why the stream ends. Empty if it stays open.
      std::vector<Answer> answers{};  ///< `answers` are the results of finished calls.
    };
    /// Returns the changes since the last `poll`: a new permit, the end of the stream, or answers. The
    /// registry calls `wake` after each later change.
    [[nodiscard]] Update poll(const http::Wake& wake);

    using Call =
        std::function<Json(const client::NetapiClient& client, SecretView token, std::string_view chunk)>;
    /// Queues `call(client, token, chunk)` for a thread of the registry. If `subject` is not empty, a later
    /// `poll` returns the result as an Answer with this subject. Equal queued calls run once. If the queue is
    /// full, the call is dropped. After the session's end, the result is JSON null.
    void call(std::string chunk, Call call, std::string subject = {});

   private:
    friend class StreamRegistry;
    Subscription(std::shared_ptr<StreamRegistry> streams, std::shared_ptr<TokenGroup> group)
        : streams_(std::move(streams)), group_(std::move(group)) {}

    const std::shared_ptr<StreamRegistry> streams_;
    const std::shared_ptr<TokenGroup> group_;
    unsigned changes_ = 0;  ///< The value of `TokenGroup::changes` at the last `poll`.
    // The mutex of `streams_` guards `wake_` and `answers_`.
    http::Wake wake_;
    std::vector<Answer> answers_;
  };

  /// Registers a stream. Errors: unavailable, if too many streams exist; internal, if no thread can start.
  Result<std::unique_ptr<Subscription>> open(const master::Session& session,
                                             const master::EventPermit& permit);

 private:
  struct QueuedCall {
    std::shared_ptr<TokenGroup> group;
    std::string chunk;
    Subscription::Call call;
    std::vector<std::pair<Subscription*, std::string>> subscribers;
  };

  Result<void> start_threads() REQUIRES(mutex_);
  void check_loop();
  void call_loop() NOT_ANALYZED;
  void answer(MutexLock& lock) REQUIRES(mutex_) NOT_ANALYZED;
  void check_all(const client::NetapiClient& client);
  [[nodiscard]] bool check(const client::NetapiClient& client, TokenGroup& group, SteadyTime deadline);
  void change_and_wake(TokenGroup& group, const std::function<void()>& change);
  [[nodiscard]] SteadyTime next_check() const REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<TokenGroup> find(SecretView token) const REQUIRES(mutex_);
  [[nodiscard]] std::shared_ptr<TokenGroup> group_of(const master::Session& session,
                                                     const master::EventPermit& permit) REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const client::NetapiClient> client_ GUARDED_BY(mutex_);
  StreamLimits limits_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<TokenGroup>> groups_ GUARDED_BY(mutex_);
  std::size_t open_ GUARDED_BY(mutex_) = 0;
  std::deque<QueuedCall> queue_ GUARDED_BY(mutex_);  ///< The running call stays at the front.
  /// Whether the queue was full and dropped a call since it was last empty. Only the first such call is
  /// logged.
  bool has_dropped_calls_ GUARDED_BY(mutex_) = false;
  SteadyTime last_check_ GUARDED_BY(mutex_){};
  bool check_now_ GUARDED_BY(mutex_) = false;
  bool has_new_stream_ GUARDED_BY(mutex_) = false;
  bool stopping_ GUARDED_BY(mutex_) = false;
  /// The group whose token the master did not check in time. The next check begins with the other groups.
  /// Used by `check_loop` only.
  std::weak_ptr<const TokenGroup> unanswered_;
  Thread check_thread_ GUARDED_BY(mutex_);
  Thread call_thread_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::netapi
