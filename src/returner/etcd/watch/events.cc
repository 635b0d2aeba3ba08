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
constexpr milliseconds kPause{1000};  // after a failure

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
  return put(layout_.listeners() + name_, {});
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
  std::unique_lock lock(mutex_);
  while (came_.wait(lock, stop, [this] { return dropped_ || !waiting_.empty(); })) {
    came_.wait_for(lock, stop, failing ? kPause : kGroupTime, [] { return false; });
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
  std::string events;
  std::size_t count = 0;
  bool dropped = false;
  {
    const std::lock_guard lock(mutex_);
    dropped = std::exchange(dropped_, false);
    for (; count < waiting_.size() && (count == 0 || events.size() < kMostOfBatch); ++count) {
      events.append(count == 0 ? "" : ", ").append(waiting_[count]);
    }
  }
  Result<void> told;
  if (*heard) {
    told = put(layout_.events() + name_,
               format(R"({}, "events": [{}])", dropped ? R"(, "dropped": true)" : "", events));
  }
  const std::lock_guard lock(mutex_);
  const bool is_refused = !told && told.error().kind == ErrorKind::invocation;
  dropped_ = dropped_ || is_refused || (!told && dropped);
  if (!told && !is_refused) return told;
  for (; count > 0; --count) {
    bytes_ -= waiting_.front().size();
    waiting_.pop_front();
  }
  return {};
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

Result<void> EtcdEvents::put(const std::string& key, std::string_view rest_of_object) {
  const std::uint64_t number = [this] {
    const std::lock_guard lock(mutex_);
    return ++puts_;
  }();
  // Later values are greater, as bytes compare.
  EtcdPair pair{key, format(R"({{"number": "{:020}"{}}})", number, rest_of_object)};
  return store_->write({{EtcdWrite::Unless::greater, key, pair.value, {pair}}});
}

}  // namespace rest_fcgi::returner
