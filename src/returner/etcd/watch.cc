// SPDX-License-Identifier: MIT
#include "returner/etcd/watch.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <stop_token>
#include <string_view>
#include <thread>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/waiting.h"
#include "returner/etcd/layout.h"

// The values of the keys that only this program uses (layout.h lists the keys):
//   listeners/<process>   {"number": "00000000000000000042"}
//   events/<process>      {"number": "00000000000000000043", "dropped": true,
//                         "events": [{"tag": "T", "user": "fred", "data": {...}}, ...]}
// `number` has 20 digits and ascends with each put of the process, so that a later value sorts after an
// earlier one. `dropped` is present if the process lost an event since its previous put.

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// The largest total size of waiting events in bytes. etcd accepts requests of up to 1.5 MiB.
constexpr std::size_t kMostWaiting = 1024 * 1024;
constexpr milliseconds kEventsGroupTime{10};
constexpr milliseconds kEventsPause{1000};  // The pause after a failed write of events.
constexpr milliseconds kLookEvery{
    1000};  // The interval at which the thread looks for listeners of other processes.

constexpr milliseconds kSlice{200};  // Every `kSlice`, the watch checks whether to stop.
// A watch runs at least for `kMinimumLife`, even if `ClusterListener::wanted` returns false.
constexpr seconds kMinimumLife{3};
constexpr seconds kReconnectTime{2};  // A busy member of the cluster needs time for a new connection.
constexpr seconds kBeginTime{2};
// `start` waits this long for another thread that starts the watch. After a failed start, `start` returns
// the same error for this time.
constexpr seconds kStartWait{1};
constexpr seconds kLookUpTime{5};        // Reading the loads for one transaction takes at most `kLookUpTime`.
constexpr seconds kListenEvery{20};      // Every `kListenEvery`, the process writes the key that shows its
                                         // listener.
constexpr seconds kListenAgainAfter{2};  // The pause after a failed write is `kListenAgainAfter`.

class ChangesV3 : public EtcdChanges {
 public:
  ChangesV3(std::unique_ptr<etcd::Client> client, std::string folder)
      : client_(std::move(client)), folder_(std::move(folder)) {}

  Result<void> begin(etcd::Deadline deadline) override {
    // Reads one key, so that a missing permission makes `begin` fail and not a later `next`.
    const std::string end = etcd::prefix_end(folder_);
    const auto now = client_->range({.key = folder_, .range_end = end, .limit = 1}, deadline);
    if (!now) return now.error();
    const std::int64_t start = now->header.revision + 1;
    watcher_ = std::make_unique<etcd::Watcher>(
        *client_, etcd::WatchRequest{.key = folder_, .range_end = end, .start_revision = start});
    return {};
  }

  Result<std::vector<EtcdChange>> next(etcd::Deadline deadline) override {
    auto events = watcher_->next(deadline);
    if (!events) return std::move(events).error();
    std::vector<EtcdChange> changes;
    for (etcd::WatchEvent& event : *events) {
      if (event.is_delete) continue;
      const bool same = event.prev_kv && event.prev_kv->value == event.kv.value;
      changes.push_back({std::move(event.kv.key), std::move(event.kv.value), event.kv.version == 1, same,
                         event.kv.mod_revision});
    }
    return changes;
  }

  Result<std::optional<std::string>> value_at(const std::string& key, std::int64_t revision,
                                              etcd::Deadline deadline) override {
    auto reply = client_->range({.key = key, .revision = revision}, deadline);
    if (!reply && reply.error().kind == ErrorKind::invocation) {
      reply = client_->range({.key = key}, deadline);
    }
    if (!reply) return std::move(reply).error();
    if (reply->kvs.empty()) return std::optional<std::string>();
    return std::optional(std::move(reply->kvs.front().value));
  }

 private:
  const std::unique_ptr<etcd::Client> client_;
  const std::string folder_;
  std::unique_ptr<etcd::Watcher> watcher_;
};

/// Sends events to the listeners of other processes. Each process writes its events to one key of its own,
/// and the listeners of other processes watch this key. If no other process has a listener, the process does
/// not write the events. Thread-safe.
class EtcdEvents {
 public:
  /// REQUIRES: the time to live of `store` is longer than the time between two calls of `listen`.
  EtcdEvents(std::unique_ptr<EtcdStore> store, const EtcdLayout& layout, const std::string& name)
      : store_(std::move(store)),
        listeners_(layout.listeners()),
        own_listener_(listeners_ + name),
        key_(layout.events() + name) {}
  ~EtcdEvents() { ending_.request_stop(); }
  EtcdEvents(const EtcdEvents&) = delete;
  EtcdEvents& operator=(const EtcdEvents&) = delete;

  [[nodiscard]] const std::string& key() const noexcept { return key_; }

  /// Queues an event without waiting. If the event cannot be sent, other processes call `lost` of their
  /// listeners.
  void publish(std::string_view tag, const Json& data, std::string_view user) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object().key("tag").string(tag).key("user").string(user);
    writer.key("data").json(data).end_object();
    const MutexLock lock(mutex_);
    if (waiting_.size() + text.size() > kMostWaiting) {
      dropped_ = true;
    } else {
      waiting_.append(waiting_.empty() ? "" : ", ").append(text);
    }
    start();
  }

  void drop() {
    const MutexLock lock(mutex_);
    dropped_ = true;
    start();
  }

  Result<void> listen() { return put(own_listener_, numbered({})); }

 private:
  void start() REQUIRES(mutex_) {
    came_.notify_one();
    if (thread_.joinable()) return;
    auto thread = Thread::start("etcd-events", [this] { run(ending_.get_token()); });
    if (thread) thread_ = *std::move(thread);
  }

  void run(const std::stop_token& stop) {
    bool failing = false;
    MutexLock lock(mutex_);
    while (came_.wait(
        lock, stop, [this]() REQUIRES(mutex_) { return dropped_ || !waiting_.empty() || !batch_.empty(); })) {
      came_.wait_for(lock, stop, failing ? kEventsPause : kEventsGroupTime, [] { return false; });
      if (failing && stop.stop_requested()) return;
      lock.unlock();
      const Result<void> sent = send();
      if (!sent && !failing) {
        log::warning(format("etcd: events cannot be sent to other hosts: {}", sent.error().message));
      }
      failing = !sent;
      lock.lock();
    }
  }

  /// Sends the waiting events. After an error, the next call sends the same events again. A listener that
  /// already has these events ignores the second put, because its value is the same.
  Result<void> send() {
    const Result<bool> heard = has_listeners();
    if (!heard) return heard.error();
    if (batch_.empty()) batch_ = next_batch();
    if (*heard) {
      Result<void> told = put(key_, batch_);
      if (!told && told.error().kind != ErrorKind::invocation) return told;
      const MutexLock lock(mutex_);
      dropped_ = dropped_ || !told;
    }
    batch_.clear();
    return {};
  }

  [[nodiscard]] std::string next_batch() {
    const MutexLock lock(mutex_);
    const char* const dropped = std::exchange(dropped_, false) ? R"(, "dropped": true)" : "";
    return numbered(format(R"({}, "events": [{}])", dropped, std::exchange(waiting_, {})));
  }

  Result<bool> has_listeners() {
    if (none_at_ && steady_clock::now() < *none_at_ + kLookEvery) return false;
    bool found = false;
    const Result<void> looked = store_->visit(listeners_, [&](const std::string& key, const std::string&) {
      found = found || key != own_listener_;
    });
    if (!looked) return looked.error();
    none_at_ = found ? std::nullopt : std::optional(steady_clock::now());
    return found;
  }

  /// Returns a JSON object that sorts, compared as bytes, after all earlier results.
  [[nodiscard]] std::string numbered(std::string_view rest_of_object) {
    return format(R"({{"number": "{:020}"{}}})", ++puts_, rest_of_object);
  }

  /// etcd skips the put if the key has a greater value, so that a delayed older put does not replace a newer
  /// value.
  Result<void> put(const std::string& key, const std::string& value) {
    return store_->write({{EtcdWrite::Unless::greater, key, value, {{key, value}}}});
  }

  const std::unique_ptr<EtcdStore> store_;
  const std::string listeners_;
  const std::string own_listener_;
  const std::string key_;
  Mutex mutex_;
  std::string waiting_ GUARDED_BY(mutex_);  // `waiting_` has JSON events, separated by commas.
  // `dropped_` says that an event was lost since the last batch.
  bool dropped_ GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> puts_{0};
  std::string batch_;  // `batch_` has the events that `thread_` is sending. Only `thread_` uses the text.
  // `none_at_` is the time when `thread_` last found no listener. Only `thread_` uses this time.
  std::optional<SteadyTime> none_at_;
  std::condition_variable_any came_;
  std::stop_source ending_;
  Thread thread_ GUARDED_BY(mutex_);
};

void pass_events_on(std::string_view value, ClusterListener& listener) {
  JsonDocument document;
  if (!document.parse(value, JsonLimits::none())) return listener.lost("malformed event of another host");
  const JsonValue batch = document.root();
  if (batch.find("dropped")) listener.lost("another host lost an event");
  const auto events = batch.find("events");
  for (const JsonValue event : events ? events->elements() : JsonValue().elements()) {
    const auto tag = event.find("tag");
    const auto user = event.find("user");
    const auto data = event.find("data");
    if (!tag || !user || !data || !data->is(JsonValue::Kind::object)) continue;
    listener.event(tag->text(), data->json(), user->text());
  }
}

class EtcdWatch : public Watch {
 public:
  EtcdWatch(const EtcdOptions& options, const std::string& name, std::unique_ptr<EtcdChanges> changes,
            std::unique_ptr<EtcdStore> events, std::shared_ptr<EtcdLosses> losses, ClusterListener& listener)
      : layout_(options),
        listener_(listener),
        events_(std::move(events), layout_, name),
        losses_(std::move(losses)),
        changes_(std::move(changes)),
        jobs_(options, listener,
              [this](const std::string& key, std::int64_t revision) { return look_up(key, revision); }) {
    losses_->set_callback([this] {
      own_loss_ = true;
      events_.drop();
    });
  }

  ~EtcdWatch() override {
    losses_->set_callback({});
    ending_ = true;
  }

  Result<void> start(SteadyTime deadline) override {
    const Waiting waiting;
    MutexLock lock(mutex_);
    // Only one thread waits for the cluster, in `begin`. Other callers wait here for at most `kStartWait`.
    if (!begun_.wait_for(lock, kStartWait, [this]() REQUIRES(mutex_) { return !is_beginning_; })) {
      return Error{ErrorKind::unavailable, "etcd does not answer"};
    }
    if (!is_running_) {
      if (failed_ && steady_clock::now() < started_at_ + kStartWait) return *failed_;
      is_beginning_ = true;
      lock.unlock();
      Result<void> begun = begin(deadline);
      lock.lock();
      is_beginning_ = false;
      begun_.notify_all();
      started_at_ = steady_clock::now();
      failed_ = begun ? std::nullopt : std::optional(begun.error());
      if (!begun) return begun;
      auto thread = Thread::start("etcd-watch", [this] { run(); });
      if (!thread) return std::move(thread).error();
      is_running_ = true;
      // The assignment joins the thread of the previous run. That thread does not lock `mutex_` any more.
      thread_ = *std::move(thread);
    }
    started_at_ = steady_clock::now();
    return {};
  }

  void publish(std::string_view tag, const Json& data, std::string_view user) override {
    events_.publish(tag, data, user);
  }

 private:
  void run() {
    while (!ending_ && !ends()) run_slice();
  }

  /// REQUIRES: `thread_` does not run.
  Result<void> begin(SteadyTime deadline) {
    own_loss_ = false;
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

  void run_slice() {
    const SteadyTime until = steady_clock::now() + kSlice;
    if (lost_.empty()) {
      const auto changes = changes_->next(failing_ ? until + kReconnectTime : until);
      changes ? take(*changes) : fail(changes.error());
    } else {
      begin_again();
    }
    look_up_until_ = steady_clock::now() + kLookUpTime;
    if (own_loss_.exchange(false)) listener_.lost("etcd refused a job or return");
    const SteadyTime now = steady_clock::now();
    jobs_.settle(now);
    if (now >= listen_at_ && !ending_) listen();
    // `next` may return an error at once. Without the pause, the loop would use a whole CPU.
    if (failing_ || !lost_.empty()) std::this_thread::sleep_until(until);
  }

  Result<std::optional<std::string>> look_up(const std::string& key, std::int64_t revision) {
    if (ending_ || steady_clock::now() >= look_up_until_) {
      return Error{ErrorKind::timeout, "etcd did not answer in time"};
    }
    return changes_->value_at(key, revision, look_up_until_);
  }

  void take(const std::vector<EtcdChange>& changes) {
    look_up_until_ = steady_clock::now() + kLookUpTime;
    if (std::exchange(failing_, false)) log::info("etcd: the watch works again");
    jobs_.take(changes, steady_clock::now());
    for (const EtcdChange& change : changes) {
      const bool is_event = change.key.starts_with(layout_.events()) && change.key != events_.key();
      if (is_event && !change.is_same) pass_events_on(change.value, listener_);
    }
  }

  void fail(const Error& error) {
    if (error.kind == ErrorKind::invocation) {
      lost_ = error.message;
      return;
    }
    if (std::exchange(failing_, true)) return;
    log::warning(format("etcd: the watch failed: {}; it is retried", error.message));
    if (error.kind != ErrorKind::unavailable && error.kind != ErrorKind::timeout) {
      listener_.lost(error.message);
    }
  }

  void begin_again() {
    if (!changes_->begin(steady_clock::now() + kBeginTime)) return;
    jobs_.forget();
    listen_at_ = {};  // A cluster that was replaced or restored does not have the key of this listener.
    log::warning(format("etcd: the watch lost changes: {}", lost_));
    listener_.lost(std::exchange(lost_, {}));
  }

  void listen() {
    const Result<void> heard = events_.listen();
    const SteadyTime now = steady_clock::now();
    listen_at_ = now + (heard ? kListenEvery : kListenAgainAfter);
    if (!heard) return;
    if (now - std::exchange(listened_at_, now) < kListeningTtl) return;
    listener_.lost("etcd could not be written for a long time: events of other hosts may be missing");
  }

  [[nodiscard]] bool ends() {
    const MutexLock lock(mutex_);
    is_running_ = steady_clock::now() < started_at_ + kMinimumLife || listener_.wanted();
    return !is_running_;
  }

  const EtcdLayout layout_;
  ClusterListener& listener_;
  EtcdEvents events_;
  const std::shared_ptr<EtcdLosses> losses_;
  std::atomic<bool> own_loss_{false};
  std::atomic<bool> ending_{false};

  // Only `thread_` uses the members from `changes_` to `listen_at_`. While `thread_` does not run, `start`
  // uses these members.
  const std::unique_ptr<EtcdChanges> changes_;
  WatchedJobs jobs_;
  std::string lost_;
  bool failing_ = false;
  SteadyTime look_up_until_{};
  SteadyTime listened_at_{};
  SteadyTime listen_at_{};

  Mutex mutex_;
  std::condition_variable begun_;
  bool is_beginning_ GUARDED_BY(mutex_) = false;
  bool is_running_ GUARDED_BY(mutex_) = false;
  SteadyTime started_at_ GUARDED_BY(mutex_){};  // The time of the last call of `start`, failed or not.
  std::optional<Error> failed_ GUARDED_BY(mutex_);
  Thread thread_;
};

}  // namespace

Result<std::unique_ptr<EtcdChanges>> make_etcd_changes(const etcd::Options& options, std::string folder) {
  auto client = etcd::Client::make(options);
  if (!client) return std::move(client).error();
  return std::unique_ptr<EtcdChanges>(std::make_unique<ChangesV3>(*std::move(client), std::move(folder)));
}

std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                       std::unique_ptr<EtcdChanges> changes,
                                       std::unique_ptr<EtcdStore> events, std::shared_ptr<EtcdLosses> losses,
                                       ClusterListener& listener) {
  return std::make_unique<EtcdWatch>(options, name, std::move(changes), std::move(events), std::move(losses),
                                     listener);
}

}  // namespace rest_fcgi::returner
