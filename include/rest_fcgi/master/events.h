// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

/// The events of a master and their readers.
namespace rest_fcgi::master {

/// The deepest nesting of an event's data. The limit exists because listeners in Python fail at a depth of
/// about 500.
inline constexpr std::size_t kMaxEventDepth = 400;

/// Checks an event before it is fired, and returns its data, an object. A tag has 1 to 512 bytes of UTF-8
/// without control characters. A line end in a tag could separate the tag from its data on Salt's event bus,
/// or forge a line of an event stream. Errors: invocation, for a wrong tag or wrong data.
[[nodiscard]] Result<JsonDocument> check_event(std::string_view tag, const Json& data);

/// The events that a listener may see.
struct EventPermit {
  auth::EventScope scope = auth::EventScope::nothing;
  std::string user{};  ///< the user whose events are permitted; used for the scope `own`
};

/// An event with its text in the forms that listeners need. Immutable; all listeners share it.
class Event {
 public:
  /// Makes an event. `id` is one line of text. `block` shows control characters of the tag escaped as in
  /// JSON.
  Event(std::string_view id, std::string_view tag, const Json& data, std::string user);

  [[nodiscard]] const std::string& tag() const noexcept { return tag_; }
  /// Returns the user of the event's job; empty if the event has no job.
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  /// Returns a block of server-sent events (HTML standard, 9.2) as Salt writes it: `tag: T`,
  /// `data: {"data": {...}, "tag": "T"}` and a blank line.
  [[nodiscard]] std::string_view block() const noexcept { return all().substr(0, id_at_); }
  /// Returns the block with a line `id: ID` before the blank line, in two pieces.
  [[nodiscard]] std::array<std::string_view, 2> block_with_id() const noexcept {
    return {all().substr(0, id_at_ - 1), all().substr(id_at_)};
  }
  /// Returns the part of the block that begins with `data: `.
  [[nodiscard]] std::string_view data_lines() const noexcept { return block().substr(data_at_); }
  /// Returns the JSON object in `data_lines`, without the prefix `data: `.
  [[nodiscard]] std::string_view json() const noexcept;
  /// Returns the event's data, a JSON object.
  [[nodiscard]] std::string_view data() const noexcept { return all().substr(object_at_, object_size_); }
  /// Returns the approximate size of `block_with_id` in bytes.
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] std::string_view all() const noexcept { return text_; }

  const std::string tag_;
  const std::string user_;
  std::string text_;  ///< the text of `block`, then the line of the id and a blank line
  std::size_t data_at_ = 0;
  std::size_t object_at_ = 0;
  std::size_t object_size_ = 0;
  std::size_t id_at_ = 0;
};

using EventPtr = std::shared_ptr<const Event>;

/// A function that is called from any thread when there are events to read. It must return quickly. Several
/// readers may share one Wake, and one call then wakes all of them.
using Wake = std::shared_ptr<const std::function<void()>>;

class EventLog;

/// A listener's position in an `EventLog`. Shares ownership of the log. Used by one thread at a time.
class EventReader {
 public:
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Appends the next permitted events to `events`, about `max_bytes` bytes. If there are no such events, the
  /// log calls `wake` once, as soon as another `read` may find events. `wake` may be null. After an error the
  /// reader cannot continue. Errors: timeout, if the log dropped events before this reader read them;
  /// unavailable, if the log may have missed events.
  [[nodiscard]] Result<void> read(std::vector<EventPtr>& events, std::size_t max_bytes, const Wake& wake);

  /// Sets the permit for later calls of `read`.
  void permit(EventPermit permit) { permit_ = std::move(permit); }

  void skip_to_end();

 private:
  friend class EventLog;
  EventReader(std::shared_ptr<EventLog> log, EventPermit permit, std::uint64_t next);

  const std::shared_ptr<EventLog> log_;
  std::uint64_t next_;  ///< number of the next event
  std::uint64_t losses_;
  EventPermit permit_;
};

struct EventLimits {
  std::size_t max_events = 100'000;
  std::size_t max_bytes = std::size_t{32} << 20;  ///< largest sum of the events' `size`
};

/// The latest events of an engine, with limits on their number and bytes. If a limit is exceeded, the oldest
/// events are dropped. Adding an event does not wait for readers. The log keeps events only while there is a
/// listener, and for one minute after the last one. So a listener may reconnect within a minute and continue
/// at its position. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
 public:
  /// `clock` must outlive the log.
  explicit EventLog(const Clock& clock, EventLimits limits = {});

  /// Returns whether the log has a listener, or had one within the last minute. Only then are events needed.
  [[nodiscard]] bool wanted() noexcept;

  /// Adds an event, if `wanted` returns true. `data` is an object with a `_stamp` and without secrets. `user`
  /// is the user of the event's job; empty if the event has no job.
  void append(std::string_view tag, const Json& data, std::string_view user);

  /// Reports to all readers that the log may have missed events. Each reader first gets the events that the
  /// log already has, and then the error unavailable with `reason`.
  void lose(std::string reason);

  /// Returns a reader of the events after the event with the id `after`. If `after` is empty, the reader gets
  /// events from now on. Errors: not_found, if the id is unknown, or if the log has already dropped some of
  /// the events after it.
  [[nodiscard]] Result<std::unique_ptr<EventReader>> reader(const EventPermit& permit,
                                                            std::string_view after = {});

 private:
  friend class EventReader;

  void forget_all();
  [[nodiscard]] std::uint64_t next_number() const noexcept { return first_ + events_.size(); }

  const Clock& clock_;
  const EventLimits limits_;
  const std::string epoch_;  ///< random part of the ids of all events in this log

  /// Whether events are needed. Written under mutex_. Read without mutex_, so that this costs little in the
  /// usual case without listeners.
  std::atomic<bool> wanted_{false};

  std::mutex mutex_;  // guards the members below
  std::deque<EventPtr> events_;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 1;  ///< number of the first event in events_
  std::uint64_t losses_ = 0;
  std::uint64_t lost_at_ = 0;  ///< number of the next event at the time of the latest loss
  std::string lost_why_;
  std::size_t readers_ = 0;
  std::vector<Wake> sleepers_;  ///< wake functions of waiting readers, without duplicates
  SteadyTime last_left_;
};

}  // namespace rest_fcgi::master
