// SPDX-License-Identifier: MIT
#include "returner/etcd/watch/watch.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/thread.h"
#include "returner/etcd/watch/events.h"
#include "returner/etcd/watch/watched_jobs.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr milliseconds kSlice{200};      // in which a stop is noticed
constexpr seconds kStartsUp{3};          // until the listener is asked whether it is wanted
constexpr seconds kMendTime{2};          // for a connection to a busy member
constexpr seconds kBeginTime{2};         // for beginning anew
constexpr seconds kOthersWait{1};        // for the one who begins; and the time after it failed
constexpr seconds kLookUpTime{5};        // for all loads of one batch
constexpr seconds kListenEvery{20};      // others are told so
constexpr seconds kListenAgainAfter{2};  // where that failed

class EtcdWatch : public Watch {
 public:
  EtcdWatch(const EtcdOptions& options, const std::string& name, std::unique_ptr<EtcdChanges> changes,
            std::unique_ptr<EtcdStore> events, std::shared_ptr<EtcdLosses> losses, ClusterListener& listener)
      : layout_(options),
        own_key_(layout_.events() + name),
        listener_(listener),
        changes_(std::move(changes)),
        events_(std::move(events), layout_, name),
        jobs_(options, listener,
              [this](const std::string& key, std::int64_t revision) { return look_up(key, revision); }),
        losses_(std::move(losses)) {
    losses_->hear([this] {
      own_loss_ = true;
      events_.drop();
    });
  }

  ~EtcdWatch() override {
    losses_->hear({});
    ending_.request_stop();
  }

  Result<void> start(SteadyTime deadline) override {
    std::unique_lock lock(mutex_);
    if (begins_) {  // by another thread: a cluster that does not answer must not take all of them
      begun_.wait_until(lock, started_at_ + kOthersWait, [this] { return !begins_; });
      if (begins_) return Error{ErrorKind::unavailable, "etcd has not answered so far"};
    }
    const SteadyTime now = steady_clock::now();
    if (failed_ && now < started_at_ + kOthersWait) return *failed_;
    started_at_ = now;
    if (runs_) return {};
    begins_ = true;
    lock.unlock();
    Result<void> begun;
    try {
      begun = begin(deadline);
    } catch (const std::exception& exception) {  // memory is short
      begun = Error{ErrorKind::unavailable, exception.what()};
    }
    lock.lock();
    begins_ = false;
    started_at_ = steady_clock::now();
    if (begun) begun = start_thread();
    failed_ = begun ? std::nullopt : std::optional(begun.error());
    begun_.notify_all();
    return begun;
  }

  void publish(std::string_view tag, const Json& data, std::string_view user) override {
    events_.publish(tag, data, user);
  }

 private:
  /// REQUIRES: the thread ends or has ended.
  Result<void> begin(SteadyTime deadline) {
    thread_.join();
    own_loss_ = false;  // who heard of it is gone
    const SteadyTime now = steady_clock::now();
    if (Result<void> begun = changes_->begin(deadline); !begun) return begun;
    if (Result<void> heard = events_.listen(); !heard) return heard;
    jobs_.forget();
    lost_.clear();
    failing_ = false;
    listened_at_ = now;
    listen_at_ = now + kListenEvery;
    return {};
  }

  /// REQUIRES: mutex_
  Result<void> start_thread() {
    auto thread = Thread::start("etcd-watch", [this] { run(ending_.get_token()); });
    if (!thread) return std::move(thread).error();
    thread_ = *std::move(thread);
    runs_ = true;
    return {};
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested() && !ends()) {
      try {
        go_on(stop);
      } catch (const std::exception& exception) {  // memory is short
        lost_ = exception.what();
      }
    }
  }

  void go_on(const std::stop_token& stop) {
    const SteadyTime until = steady_clock::now() + kSlice;
    if (lost_.empty()) {
      const auto changes = changes_->next(failing_ ? until + kMendTime : until);
      changes ? take(*changes) : fail(changes.error());
    } else {
      begin_anew();
    }
    look_up_until_ = steady_clock::now() + kLookUpTime;
    if (own_loss_.exchange(false)) listener_.lost("etcd did not keep a job or return");
    const SteadyTime now = steady_clock::now();
    jobs_.settle(now);
    if (now >= listen_at_ && !stop.stop_requested()) listen();
    // An error may come at once.
    if (failing_ || !lost_.empty()) std::this_thread::sleep_until(until);
  }

  Result<std::optional<std::string>> look_up(const std::string& key, std::int64_t revision) {
    if (ending_.stop_requested() || steady_clock::now() >= look_up_until_) {
      return Error{ErrorKind::timeout, "etcd has not answered in time"};
    }
    return changes_->value_at(key, revision, look_up_until_);
  }

  void take(const std::vector<EtcdChange>& changes) {
    look_up_until_ = steady_clock::now() + kLookUpTime;
    if (std::exchange(failing_, false)) log::info("etcd: what other hosts do is heard again");
    jobs_.take(changes, steady_clock::now());
    for (const EtcdChange& change : changes) {
      const bool is_event = change.key.starts_with(layout_.events()) && change.key != own_key_;
      if (is_event && !change.is_same) EtcdEvents::tell(change.value, listener_);
    }
  }

  void fail(const Error& error) {
    if (error.kind == ErrorKind::invocation) {
      lost_ = error.message;
      return;
    }
    if (std::exchange(failing_, true)) return;
    log::warning(format("etcd: what other hosts do comes late: {}", error.message));
    if (error.kind != ErrorKind::unavailable && error.kind != ErrorKind::timeout) {
      listener_.lost(error.message);  // nobody knows whether that passes
    }
  }

  void begin_anew() {
    if (!changes_->begin(steady_clock::now() + kBeginTime)) return;
    jobs_.forget();
    log::warning(format("etcd: some of what other hosts did is not known: {}", lost_));
    listener_.lost(std::exchange(lost_, {}));
  }

  void listen() {
    const Result<void> heard = events_.listen();
    const SteadyTime now = steady_clock::now();
    listen_at_ = now + (heard ? kListenEvery : kListenAgainAfter);
    if (!heard) return;
    if (now - std::exchange(listened_at_, now) < kListeningTtl) return;
    listener_.lost("etcd could not be written for so long that other hosts may not have told their events");
  }

  /// Nobody wants to hear more.
  [[nodiscard]] bool ends() {
    const std::lock_guard lock(mutex_);
    if (steady_clock::now() < started_at_ + kStartsUp || listener_.wanted()) return false;
    runs_ = false;
    return true;
  }

  const EtcdLayout layout_;
  const std::string own_key_;
  ClusterListener& listener_;
  const std::unique_ptr<EtcdChanges> changes_;  // of the thread, while it runs; and so are the next ones
  EtcdEvents events_;                           // synchronizes itself
  WatchedJobs jobs_;
  std::string lost_;      // why changes were missed, since they last began
  bool failing_ = false;  // the log says so
  SteadyTime look_up_until_{};
  SteadyTime listened_at_{};
  SteadyTime listen_at_{};
  const std::shared_ptr<EtcdLosses> losses_;
  std::atomic<bool> own_loss_{false};

  std::mutex mutex_;
  std::condition_variable begun_;
  SteadyTime started_at_{};      // guarded by mutex_, as are the next ones
  bool begins_ = false;          // one thread does
  std::optional<Error> failed_;  // when it was started last
  bool runs_ = false;
  std::stop_source ending_;
  Thread thread_;  // of who begins
};

}  // namespace

std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                       std::unique_ptr<EtcdChanges> changes,
                                       std::unique_ptr<EtcdStore> events, std::shared_ptr<EtcdLosses> losses,
                                       ClusterListener& listener) {
  return std::make_unique<EtcdWatch>(options, name, std::move(changes), std::move(events), std::move(losses),
                                     listener);
}

}  // namespace rest_fcgi::returner
