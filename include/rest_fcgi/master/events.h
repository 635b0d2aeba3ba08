// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::master {

/// The deepest nesting of an event's data. Listeners in Python fail at a depth of about 500.
inline constexpr std::size_t kMaxEventDepth = 400;

/// Checks an event and returns its data, which must be an object. The tag has 1 to 512 bytes of UTF-8.
/// Control characters are refused, because a line end in the tag could forge a line of an event stream. Fails
/// with `invocation`.
Result<JsonDocument> check_event(std::string_view tag, const Json& data);

struct EventPermit {
  auth::EventScope scope = auth::EventScope::nothing;
  std::string user{};  ///< With the scope `own`, only events of this user's jobs are permitted.
};

/// An event with its text in the forms that listeners need. Immutable; thread-safe.
class Event {
 public:
  /// Control characters in `tag` are escaped in the event's texts, as in JSON. REQUIRES: `id` has no line
  /// end.
  Event(std::string_view id, std::string_view tag, const Json& data, std::string user);

  [[nodiscard]] const std::string& tag() const noexcept { return tag_; }
  /// Returns the user of the event's job, or an empty text if the event belongs to no job.
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  /// Returns the event as a block of an event stream (HTML standard, 9.2) in Salt's form: `tag: T`, `data:
  /// {"data": {...}, "tag": "T"}` and a blank line.
  [[nodiscard]] std::string_view block() const noexcept { return all().substr(0, id_at_); }
  /// Returns two texts: the block without its blank line, and the line `id: ID` with the blank line.
  [[nodiscard]] std::array<std::string_view, 2> block_with_id() const noexcept {
    return {all().substr(0, id_at_ - 1), all().substr(id_at_)};
  }
  /// Returns the part of the block that begins with `data: `.
  [[nodiscard]] std::string_view data_lines() const noexcept { return block().substr(data_at_); }
  /// Returns the JSON object in `data_lines`, without the prefix `data: `.
  [[nodiscard]] std::string_view json() const noexcept;
  [[nodiscard]] std::string_view data() const noexcept { return all().substr(object_at_, object_size_); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] std::string_view all() const noexcept { return text_; }

  const std::string tag_;
  const std::string user_;
  std::string text_;  ///< Holds the text of `block`, and after it the line `id: ID` and a blank line.
  std::size_t data_at_ = 0;
  std::size_t object_at_ = 0;
  std::size_t object_size_ = 0;
  std::size_t id_at_ = 0;
};

using EventPtr = std::shared_ptr<const Event>;

/// A function that wakes a reader when the log has events for the reader. The log calls the function from any
/// thread, so the function must return quickly. Readers may share a Wake, and one call wakes all of them.
using Wake = std::shared_ptr<const std::function<void()>>;

class EventLog;

/// A listener's position in an `EventLog`. Shares ownership of the log. Used by one thread at a time.
class EventReader {
 public:
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Appends new permitted events to `events`, about `max_bytes` in total. If the log has no new permitted
  /// event, the log calls `wake` once when more events arrive. `wake` may be null. Fails with `timeout` if
  /// the log dropped events that this reader has not read, and with `unavailable` if the engine missed
  /// events. The reader cannot continue after an error.
  Result<void> read(std::vector<EventPtr>& events, std::size_t max_bytes, const Wake& wake);

  void permit(EventPermit permit) { permit_ = std::move(permit); }

  void skip_to_end();

 private:
  friend class EventLog;
  EventReader(std::shared_ptr<EventLog> log, EventPermit permit, std::uint64_t next);

  const std::shared_ptr<EventLog> log_;
  std::uint64_t next_;
  std::uint64_t losses_;
  EventPermit permit_;
};

struct EventLimits {
  std::size_t max_events = 100'000;
  /// The largest memory of all events in bytes, with an estimate for each event's overhead.
  std::size_t max_bytes = std::size_t{32} << 20;
};

/// The latest events of an engine. The log drops the oldest events if it exceeds its limits. It keeps events
/// while it has a listener and for one minute afterwards, so that a listener may reconnect and continue.
/// Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
 public:
  explicit EventLog(const Clock& clock, EventLimits limits = {});

  /// Returns whether the log has a listener, or had a listener within the last minute.
  [[nodiscard]] bool wanted() noexcept;

  /// Adds an event if `wanted` returns true. `data` is an object with a `_stamp` and without secrets. `user`
  /// is the user of the event's job, or empty for an event without a job.
  void append(std::string_view tag, const Json& data, std::string_view user);

  /// Reports a loss of events. Each reader gets the kept events, and after them the error `unavailable` with
  /// `reason`.
  void lose(std::string reason);

  /// Returns a reader of the events after the event `after`. If `after` is empty, the reader gets only new
  /// events. Fails with `not_found` if the id is unknown or later events were dropped.
  Result<std::unique_ptr<EventReader>> reader(const EventPermit& permit, std::string_view after = {});

 private:
  friend class EventReader;

  [[nodiscard]] std::uint64_t next_number() const noexcept REQUIRES(mutex_) {
    return first_ + events_.size();
  }

  const Clock& clock_;
  const EventLimits limits_;
  /// The random first part of each event id, by which this log recognizes the ids of its own events.
  const std::string epoch_;

  /// Whether the log keeps events. `mutex_` guards writes, but `wanted` reads this member without `mutex_`.
  std::atomic<bool> wanted_{false};

  Mutex mutex_;
  std::deque<EventPtr> events_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t first_ GUARDED_BY(mutex_) = 1;
  std::uint64_t losses_ GUARDED_BY(mutex_) = 0;
  std::uint64_t lost_at_ GUARDED_BY(mutex_) = 0;  ///< The number of the first event after the latest loss.
  std::string lost_why_ GUARDED_BY(mutex_);
  std::size_t readers_ GUARDED_BY(mutex_) = 0;
  std::vector<Wake> sleepers_ GUARDED_BY(mutex_);
  SteadyTime last_left_ GUARDED_BY(mutex_);
};

}  // namespace rest_fcgi::master
