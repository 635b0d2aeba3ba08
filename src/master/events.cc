// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/events.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

// The text of an Event, with the members that hold positions:
//               tag: TAG
//   data_at_    data: {"data": OBJECT, "tag": "TAG"}     object_at_, object_size_: OBJECT
//               (an empty line)
//   id_at_      id: EPOCH-NUMBER
//               (an empty line)
// Invariants of EventLog whenever `mutex_` is free:
// - `events_[i]` has the number `first_ + i`. Numbers never return. When `wanted` forgets all events, it
// skips
//   one number.
// - `bytes_` is the sum of `cost_of` for all events: at most `max_bytes`, unless there is only one event.
// - No reader's `next_` exceeds `next_number()`. A reader with `next_ < first_` has missed events.
// - If `readers_` is not 0, `wanted_` is true.

namespace rest_fcgi::master {
namespace {

constexpr std::size_t kMaxTag = 512;

bool is_control(char byte) {
  constexpr char kDelete = 0x7F;
  return static_cast<unsigned char>(byte) < ' ' || byte == kDelete;
}

Error bad_tag(std::string_view found) {
  return {ErrorKind::invocation,
          format("An event's tag: found {}, expected 1 to {} bytes of UTF-8 without control characters.",
                 found, kMaxTag)};
}

/// The time for which the log keeps events without a listener, so that a listener can reconnect.
constexpr std::chrono::minutes kReconnectTime{1};

std::string make_epoch() {
  std::random_device dice;
  return format("{:08x}{:08x}", static_cast<std::uint32_t>(dice()), static_cast<std::uint32_t>(dice()));
}

/// Returns the number in an event id `EPOCH-NUMBER`. Returns std::nullopt if the id has another epoch,
/// because another log made it.
std::optional<std::uint64_t> number_of(std::string_view id, std::string_view epoch) {
  if (!id.starts_with(epoch) || id.size() < epoch.size() + 2 || id[epoch.size()] != '-') return std::nullopt;
  return parse_number<std::uint64_t>(id.substr(epoch.size() + 1));
}

constexpr std::size_t kEventCost = 200;  // The memory in bytes that an event needs in addition to its text.

std::size_t cost_of(const Event& event) {
  return event.size() + event.tag().size() + kEventCost;
}

bool may_see(const EventPermit& permit, const Event& event) {
  if (permit.scope == auth::EventScope::all) return true;
  return permit.scope == auth::EventScope::own && !event.user().empty() && event.user() == permit.user;
}

}  // namespace

Result<JsonDocument> check_event(std::string_view tag, const Json& data) {
  if (tag.empty()) return bad_tag("an empty string");
  if (tag.size() > kMaxTag) return bad_tag(format("{} bytes", tag.size()));
  if (std::any_of(tag.begin(), tag.end(), is_control)) return bad_tag("a control character");
  if (!is_utf8(tag)) return bad_tag("bytes that are not UTF-8");
  JsonLimits limits = JsonLimits::none();
  limits.max_depth = kMaxEventDepth;
  JsonDocument document;
  if (const auto parsed = document.parse(data.text(), limits); !parsed) {
    return Error{ErrorKind::invocation, format("An event's data: {}", parsed.error().message)};
  }
  if (!document.root().is(JsonValue::Kind::object)) {
    return Error{ErrorKind::invocation,
                 format("An event's data: found {}, expected an object.", document.root().type_name())};
  }
  return document;
}

Event::Event(std::string_view id, std::string_view tag, const Json& data, std::string user)
    : tag_(tag), user_(std::move(user)) {
  const std::string quoted_tag = std::move(Json::string(tag)).text();
  const bool plain = is_utf8(tag) && std::none_of(tag.begin(), tag.end(), is_control);
  const std::string head =
      format("tag: {}\n", plain ? tag : std::string_view(quoted_tag).substr(1, quoted_tag.size() - 2));
  constexpr std::string_view kBefore = R"(data: {"data": )";
  const std::string tail = format(", \"tag\": {}}}\n\n", quoted_tag);
  const std::string id_line = format("id: {}\n\n", id);
  data_at_ = head.size();
  object_at_ = data_at_ + kBefore.size();
  object_size_ = data.text().size();
  id_at_ = object_at_ + object_size_ + tail.size();
  text_.reserve(id_at_ + id_line.size());
  text_.append(head).append(kBefore).append(data.text()).append(tail).append(id_line);
}

std::string_view Event::json() const noexcept {
  constexpr std::string_view kBefore = "data: ";
  constexpr std::size_t kBehind = 2;  // The number of line ends that follow the JSON text in `data_lines()`.
  const std::string_view lines = data_lines();
  return lines.substr(kBefore.size(), lines.size() - kBefore.size() - kBehind);
}

EventReader::EventReader(std::shared_ptr<EventLog> log, EventPermit permit, std::uint64_t next)
    : log_(std::move(log)), next_(next), losses_(log_->losses_), permit_(std::move(permit)) {}

EventReader::~EventReader() {
  const MutexLock lock(log_->mutex_);
  if (--log_->readers_ == 0) log_->last_left_ = log_->clock_.steady();
}

void EventReader::skip_to_end() {
  const MutexLock lock(log_->mutex_);
  next_ = log_->next_number();
  losses_ = log_->losses_;
}

Result<void> EventReader::read(std::vector<EventPtr>& events, std::size_t max_bytes, const Wake& wake) {
  EventLog& log = *log_;
  const MutexLock lock(log.mutex_);
  if (next_ < log.first_) {
    return Error{ErrorKind::timeout, "You read too slowly: the log dropped events that you had not read."};
  }
  const bool lost = losses_ != log.losses_;
  const std::uint64_t end = lost ? std::max(log.lost_at_, next_) : log.next_number();
  bool came = false;
  for (std::size_t bytes = 0; next_ < end && bytes < max_bytes; ++next_) {
    const EventPtr& event = log.events_[next_ - log.first_];
    if (!may_see(permit_, *event)) continue;
    bytes += event->size();
    events.push_back(event);
    came = true;
  }
  if (lost && next_ >= end) return Error{ErrorKind::unavailable, log.lost_why_};
  if (came || next_ < end || !wake) return {};
  if (std::find(log.sleepers_.begin(), log.sleepers_.end(), wake) == log.sleepers_.end()) {
    log.sleepers_.push_back(wake);
  }
  return {};
}

EventLog::EventLog(const Clock& clock, EventLimits limits)
    : clock_(clock), limits_(limits), epoch_(make_epoch()) {}

bool EventLog::wanted() noexcept {
  if (!wanted_) return false;
  const MutexLock lock(mutex_);
  if (readers_ != 0 || clock_.steady() - last_left_ < kReconnectTime) return true;
  // The log stops keeping events, so it skips an event number. A client that reconnects sends the id of an
  // event before this gap, and gets an error about the missed events.
  first_ = next_number() + 1;
  events_.clear();
  events_.shrink_to_fit();
  bytes_ = 0;
  wanted_ = false;
  return false;
}

void EventLog::append(std::string_view tag, const Json& data, std::string_view user) {
  if (!wanted()) return;
  std::vector<Wake> sleepers;
  {
    const MutexLock lock(mutex_);
    auto event =
        std::make_shared<const Event>(format("{}-{}", epoch_, next_number()), tag, data, std::string(user));
    bytes_ += cost_of(*event);
    events_.push_back(std::move(event));
    while (events_.size() > limits_.max_events || (bytes_ > limits_.max_bytes && events_.size() > 1)) {
      bytes_ -= cost_of(*events_.front());
      events_.pop_front();
      ++first_;
    }
    sleepers.swap(sleepers_);
  }
  for (const Wake& wake : sleepers) (*wake)();
}

void EventLog::lose(std::string reason) {
  std::vector<Wake> sleepers;
  {
    const MutexLock lock(mutex_);
    ++losses_;
    lost_at_ = next_number();
    lost_why_ = std::move(reason);
    sleepers.swap(sleepers_);
  }
  for (const Wake& wake : sleepers) (*wake)();
}

Result<std::unique_ptr<EventReader>> EventLog::reader(const EventPermit& permit, std::string_view after) {
  const MutexLock lock(mutex_);
  std::uint64_t next = next_number();
  if (!after.empty()) {
    const auto number = number_of(after, epoch_);
    // A client may send any number. The reader can begin after this event only if the event existed and the
    // log has all later events.
    const bool known = number && *number < next && *number + 1 >= first_ && *number >= lost_at_;
    if (!known)
      return Error{ErrorKind::not_found, "The log does not have all events since the last one that you had."};
    next = *number + 1;
  }
  std::unique_ptr<EventReader> made(new EventReader(shared_from_this(), permit, next));
  ++readers_;
  wanted_ = true;
  return made;
}

}  // namespace rest_fcgi::master
