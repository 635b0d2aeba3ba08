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

/// The streams of events that are open, of all modules: how many there may be, and who may go on to listen.
/// One thread, which begins with the first stream, asks twice a second about each token with which streams
/// were opened: they end when nobody holds it any more, or when no rule lets its user see events, and see
/// other events when the rules say so. Where the master cannot be asked, they stay as they are; at the
/// token's expiry they end in any case. Another thread asks what streams want to know. Made once: it lives
/// through reloads. Thread-safe.
class Streams : public std::enable_shared_from_this<Streams> {
 public:
  /// `clock` has to outlive it.
  explicit Streams(const Clock& clock) : clock_(clock) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Who is asked from now on, and how many streams there may be; those that are open stay.
  void use(std::shared_ptr<const client::NetapiClient> client, StreamLimits limits);

  /// Nobody holds this token any more: streams that were opened with it end at once.
  void end(SecretView token);

 private:
  struct Holder;

 public:
  /// The place of one stream, which is free again when this goes. Used by one thread at a time.
  class Seat {
   public:
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    struct Answer {
      std::string about;
      Json answer;
    };

    /// What has changed since this was asked last.
    struct News {
      std::optional<master::EventPermit> permit;  ///< what the stream shows from now on
      std::string over;                           ///< why it has to end; empty: it goes on
      std::vector<Answer> answers{};              ///< to what it asked
    };
    /// `wake` is called when it is worth to ask again.
    [[nodiscard]] News news(const http::Wake& wake);

    using Ask =
        std::function<Json(const client::NetapiClient& client, SecretView token, std::string_view question)>;
    /// Asks something in the name of the stream's user, soon, on another thread. Where it is said what it is
    /// `about`, the answer is news. What streams with the same token ask in the same words meanwhile is asked
    /// once. Nothing is asked or answered where too much waits; the answer is null where the session has
    /// ended.
    void ask(std::string question, Ask ask, std::string about = {});

   private:
    friend class Streams;
    Seat(std::shared_ptr<Streams> streams, std::shared_ptr<Holder> holder)
        : streams_(std::move(streams)), holder_(std::move(holder)) {}

    const std::shared_ptr<Streams> streams_;
    const std::shared_ptr<Holder> holder_;
    unsigned changes_ = 0;         ///< of the holder, that it knows of
    http::Wake wake_;              // changed under the mutex of streams_
    std::vector<Answer> answers_;  // guarded by it
  };

  /// Makes room for one more. Errors: unavailable, where there are too many; internal, where no thread can
  /// be had.
  [[nodiscard]] Result<std::unique_ptr<Seat>> open(const master::Session& session,
                                                   const master::EventPermit& permit);

 private:
  struct Task {
    std::shared_ptr<Holder> holder;
    std::string question;
    Seat::Ask ask;
    std::vector<std::pair<Seat*, std::string>> askers;  ///< and what it is about for them
  };

  [[nodiscard]] Result<void> start_threads();
  void look_on();
  void answer_on();
  void answer(std::unique_lock<std::mutex>& lock);
  void look_at_all(const client::NetapiClient& client);
  [[nodiscard]] bool look_at(const client::NetapiClient& client, Holder& holder, SteadyTime deadline);
  void tell(Holder& holder, const std::function<void()>& change);
  [[nodiscard]] SteadyTime next_look() const;
  [[nodiscard]] std::shared_ptr<Holder> find(SecretView token) const;
  [[nodiscard]] std::shared_ptr<Holder> holder_of(const master::Session& session,
                                                  const master::EventPermit& permit);

  const Clock& clock_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::shared_ptr<const client::NetapiClient> client_;
  StreamLimits limits_;
  std::vector<std::shared_ptr<Holder>> holders_;
  std::size_t open_ = 0;
  std::deque<Task> tasks_;  ///< the first is being asked, but for a moment
  bool dropped_ = false;    ///< something that was asked, since nothing waited
  SteadyTime looked_{};
  bool look_now_ = false;
  bool is_new_ = false;  ///< a stream was opened
  bool stopping_ = false;
  std::weak_ptr<const Holder> unanswered_;  ///< the last one that a master did not answer about; of look_on
  Thread looking_;
  Thread answering_;
};

}  // namespace rest_fcgi::netapi
