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

/// Largest nesting of an event's data. Listeners in Python fail at about 500.
inline constexpr std::size_t kMaxEventDepth = 400;

/// Checks an event before it is fired, and returns its data, an object. A tag has 1 to 512 bytes of UTF-8
/// without control characters: a line end would separate it from its data on Salt's event bus, or add a
/// forged line to an event stream. Errors: invocation.
[[nodiscard]] Result<JsonDocument> check_event(std::string_view tag, const Json& data);

/// The events that a listener may see.
struct EventPermit {
  auth::EventScope scope = auth::EventScope::nothing;
  std::string user{};  ///< for the scope `own`
};

/// An event with all forms of its text. Immutable; shared by all listeners.
class Event {
 public:
  /// `id`: one line of text. Control characters of the tag are escaped in `block` as in JSON.
  Event(std::string_view id, std::string_view tag, const Json& data, std::string user);

  [[nodiscard]] const std::string& tag() const noexcept { return tag_; }
  /// Returns the user of the event's job; empty if the event has no job.
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  /// Returns a block of server-sent events (HTML standard, 9.2) as Salt writes it: `tag: T`,
  /// `data: {"data": {...}, "tag": "T"}` and a blank line.
  [[nodiscard]] std::string_view block() const noexcept { return all().substr(0, id_at_); }
  /// Returns the block with the line `id: I` before its blank line, in two pieces.
  [[nodiscard]] std::array<std::string_view, 2> block_with_id() const noexcept {
    return {all().substr(0, id_at_ - 1), all().substr(id_at_)};
  }
  /// Returns the lines of the block from `data: ` on.
  [[nodiscard]] std::string_view data_lines() const noexcept { return block().substr(data_at_); }
  /// Returns the JSON in `data_lines`.
  [[nodiscard]] std::string_view json() const noexcept;
  /// Returns the event's data, a JSON object.
  [[nodiscard]] std::string_view data() const noexcept { return all().substr(object_at_, object_size_); }
  /// Returns about the size of `block_with_id`.
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] std::string_view all() const noexcept { return text_; }

  const std::string tag_;
  const std::string user_;
  std::string text_;  ///< `block`, then the line of the id and a blank line
  std::size_t data_at_ = 0;
  std::size_t object_at_ = 0;
  std::size_t object_size_ = 0;
  std::size_t id_at_ = 0;
};

using EventPtr = std::shared_ptr<const Event>;

/// Called from any thread when there are events to read. It must be quick. Readers that share one are woken
/// by one call.
using Wake = std::shared_ptr<const std::function<void()>>;

class EventLog;

/// A listener's position in an `EventLog`. Used by one thread at a time. Keeps the log alive.
class EventReader {
 public:
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Appends permitted events to `events`, about `max_bytes` of them. If there are none, `wake`, unless it is
  /// null, is called once when a new read may find some. After an error the reader is at its end. Errors:
  /// timeout, if the log dropped events that were not read; unavailable, if the log may have missed events.
  [[nodiscard]] Result<void> read(std::vector<EventPtr>& events, std::size_t max_bytes, const Wake& wake);

  /// Sets the permit for later reads.
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
  std::size_t max_bytes = std::size_t{32} << 20;  ///< of their texts
};

/// The latest events of an engine: a ring with limits on events and bytes. Adding an event does not wait for
/// readers. Without listeners no events are kept. A listener may reconnect within a minute and continue at
/// its position. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
 public:
  /// `clock` has to outlive it.
  explicit EventLog(const Clock& clock, EventLimits limits = {});

  /// Returns whether there is a listener, or was one within the last minute.
  [[nodiscard]] bool wanted() noexcept;

  /// Adds an event if `wanted()`. `data` is an object with a `_stamp` and without secrets. `user` is the user
  /// of the event's job; empty if the event has no job.
  void append(std::string_view tag, const Json& data, std::string_view user);

  /// Reports that events may have been missed. All readers end after the events that the log has now.
  void lose(std::string reason);

  /// Returns a reader of events from now on, or of those after the event with the id `after`. Errors:
  /// not_found, if the log does not have all of them, and for an unknown id.
  [[nodiscard]] Result<std::unique_ptr<EventReader>> reader(const EventPermit& permit,
                                                            std::string_view after = {});

 private:
  friend class EventReader;

  void forget_all();
  [[nodiscard]] std::uint64_t next_number() const noexcept { return first_ + events_.size(); }

  const Clock& clock_;
  const EventLimits limits_;
  const std::string epoch_;  ///< a random part of all ids of this log

  /// Written under mutex_. Read without it, since there are mostly no listeners.
  std::atomic<bool> wanted_{false};

  std::mutex mutex_;  // guards the members below
  std::deque<EventPtr> events_;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 1;  ///< number of the first of events_
  std::uint64_t losses_ = 0;
  std::uint64_t lost_at_ = 0;  ///< number of the next event when events were lost last
  std::string lost_why_;
  std::size_t readers_ = 0;
  std::vector<Wake> sleepers_;  ///< without duplicates
  SteadyTime last_left_;
};

}  // namespace rest_fcgi::master
