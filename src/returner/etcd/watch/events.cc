// SPDX-License-Identifier: MIT
#include "returner/etcd/watch/events.h"

#include <chrono>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 4 * 1024 * 1024;  // bytes
constexpr std::size_t kMostOfBatch = 256 * 1024;
constexpr milliseconds kGroupTime{10};
constexpr milliseconds kLookEvery{1000};
constexpr milliseconds kPause{1000};     // after a failure
constexpr milliseconds kLastTime{1000};  // for what still waits at a stop

}  // namespace

EtcdEvents::EtcdEvents(std::unique_ptr<EtcdStore> store, const EtcdLayout& layout, const std::string& name)
    : store_(std::move(store)), layout_(layout), name_(name) {}

EtcdEvents::~EtcdEvents() {
  ending_.request_stop();
}

void EtcdEvents::publish(std::string_view tag, const Json& data, std::string_view user) {
  std::string text;
  JsonWriter(text)
      .begin_object()
      .key("tag")
      .string(tag)
      .key("user")
      .string(user)
      .key("data")
      .json(data)
      .end_object();
  const std::lock_guard lock(mutex_);
  if (bytes_ + text.size() > kMostWaiting) {
    dropped_ = true;
    return;
  }
  bytes_ += text.size();
  waiting_.push_back(std::move(text));
  start();
}

void EtcdEvents::drop() {
  const std::lock_guard lock(mutex_);
  dropped_ = true;
  start();
}

void EtcdEvents::start() {
  came_.notify_one();
  if (thread_.joinable()) return;
  // Where there is none to be had, the next event tries again.
  auto thread = Thread::start("etcd-events", [this] { run(ending_.get_token()); });
  if (thread) thread_ = *std::move(thread);
}

Result<void> EtcdEvents::listen() {
  return put(layout_.listeners() + name_, numbered({}));
}

void EtcdEvents::tell(std::string_view value, ClusterListener& listener) {
  JsonDocument document;
  if (!document.parse(value, JsonLimits::none()))
    return listener.lost("an event of another host cannot be read");
  const JsonValue batch = document.root();
  if (batch.find("dropped")) listener.lost("another host had more events than it could tell");
  const auto events = batch.find("events");
  for (const JsonValue event : events ? events->elements() : JsonValue().elements()) {
    const auto tag = event.find("tag");
    const auto user = event.find("user");
    const auto data = event.find("data");
    if (!tag || !user || !data || !data->is(JsonValue::Kind::object)) continue;
    listener.event(tag->text(), data->json(), user->text());
  }
}

void EtcdEvents::run(const std::stop_token& stop) {
  bool failing = false;
  std::optional<SteadyTime> last;
  std::unique_lock lock(mutex_);
  while (came_.wait(lock, stop, [this] { return dropped_ || !waiting_.empty() || !batch_.empty(); })) {
    came_.wait_for(lock, stop, failing ? kPause : kGroupTime, [] { return false; });
    if (stop.stop_requested()) {
      if (!last) last = steady_clock::now() + kLastTime;
      if (failing || steady_clock::now() >= *last) return;
    }
    lock.unlock();
    const Result<void> sent = send();
    if (!sent && !failing) {
      log::warning(format("etcd: other hosts are not told of events here so far: {}", sent.error().message));
    }
    failing = !sent;
    lock.lock();
  }
}

Result<void> EtcdEvents::send() {
  const Result<bool> heard = somebody_listens();
  if (!heard) return heard.error();
  if (batch_.empty()) batch_ = next_batch();
  if (*heard) {
    Result<void> told = put(layout_.events() + name_, batch_);
    if (!told && told.error().kind != ErrorKind::invocation) return told;
    const std::lock_guard lock(mutex_);
    dropped_ = dropped_ || !told;
  }
  batch_.clear();
  return {};
}

std::string EtcdEvents::next_batch() {
  std::string events;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && events.size() < kMostOfBatch) {
    events.append(events.empty() ? "" : ", ").append(waiting_.front());
    bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  const bool dropped = std::exchange(dropped_, false);
  return numbered(format(R"({}, "events": [{}])", dropped ? R"(, "dropped": true)" : "", events));
}

Result<bool> EtcdEvents::somebody_listens() {
  if (nobody_at_ && steady_clock::now() < *nobody_at_ + kLookEvery) return false;
  bool found = false;
  const std::string own = layout_.listeners() + name_;
  const Result<void> looked = store_->visit(
      layout_.listeners(), [&](const std::string& key, const std::string&) { found = found || key != own; });
  if (!looked) return looked.error();
  nobody_at_ = found ? std::nullopt : std::optional(steady_clock::now());
  return found;
}

std::string EtcdEvents::numbered(std::string_view rest_of_object) {
  return format(R"({{"number": "{:020}"{}}})", ++puts_, rest_of_object);
}

Result<void> EtcdEvents::put(const std::string& key, const std::string& value) {
  return store_->write({{EtcdWrite::Unless::greater, key, value, {{key, value}}}});
}

}  // namespace rest_fcgi::returner
