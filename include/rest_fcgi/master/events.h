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

/// What happens at a master, for all who listen.
namespace rest_fcgi::master {

/// Arrays and objects inside each other in an event's data: listeners in Python give one up that has more
/// than some 500.
inline constexpr std::size_t kMaxEventDepth = 400;

/// Checks an event before it is fired, whatever the engine, and gives its data for reading: an object. A tag
/// is 1 to 512 bytes of UTF-8 without control characters: a line end in one would part it from its data on
/// Salt's event bus, or put a line of the caller's into somebody's event stream. Errors: invocation, naming
/// what was found.
[[nodiscard]] Result<JsonDocument> check_event(std::string_view tag, const Json& data);

/// What a listener gets to see.
struct EventPermit {
  auth::EventScope scope = auth::EventScope::nothing;
  std::string user{};  ///< whose own jobs
};

/// One event as listeners see it, with all forms of its text in one. Immutable; shared by all who hear it.
class Event {
 public:
  /// `id` is one line of text. Control characters of the tag are escaped in `block`, as in JSON: a line end
  /// there would be a line of the stream.
  Event(std::string_view id, std::string_view tag, const Json& data, std::string user);

  [[nodiscard]] const std::string& tag() const noexcept { return tag_; }
  /// Whose job it is about; empty: nobody's.
  [[nodiscard]] const std::string& user() const noexcept { return user_; }

  /// A block of a stream of server-sent events (the HTML standard, 9.2) as Salt writes it: `tag: T`,
  /// `data: {"data": {...}, "tag": "T"}` and a blank line.
  [[nodiscard]] std::string_view block() const noexcept { return all().substr(0, id_at_); }
  /// The same block with the line `id: I` before its blank line, in two pieces.
  [[nodiscard]] std::array<std::string_view, 2> block_with_id() const noexcept {
    return {all().substr(0, id_at_ - 1), all().substr(id_at_)};
  }
  /// The lines of the block from `data: ` on.
  [[nodiscard]] std::string_view data_lines() const noexcept { return block().substr(data_at_); }
  /// Its JSON.
  [[nodiscard]] std::string_view json() const noexcept;
  /// The event's data, a JSON object.
  [[nodiscard]] std::string_view data() const noexcept { return all().substr(object_at_, object_size_); }
  /// The bytes of `block_with_id`, about.
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

/// Called when there is something to read; quick, and from any thread. Readers that share one are woken by
/// one call.
using Wake = std::shared_ptr<const std::function<void()>>;

class EventLog;

/// Where one listener has got to in an `EventLog`. Used by one thread at a time; keeps the log alive.
class EventReader {
 public:
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  /// Adds events that the permit lets through to `events`, until `events` has about `most_bytes` of them;
  /// none came: `wake`, where there is one, is called once when it may be worth to ask again. Errors:
  /// timeout, where events that it had not read yet had to go; unavailable, where some may not have come at
  /// all. It is at its end then.
  [[nodiscard]] Result<void> read(std::vector<EventPtr>& events, std::size_t most_bytes, const Wake& wake);

  /// What it gets to see from now on.
  void permit(EventPermit permit) { permit_ = std::move(permit); }

  /// Forgets what came so far.
  void skip_to_end();

 private:
  friend class EventLog;
  EventReader(std::shared_ptr<EventLog> log, EventPermit permit, std::uint64_t next);

  const std::shared_ptr<EventLog> log_;
  std::uint64_t next_;  ///< event's number
  std::uint64_t losses_;
  EventPermit permit_;
};

/// What an `EventLog` may take.
struct EventLimits {
  std::size_t max_events = 100'000;
  std::size_t max_bytes = std::size_t{32} << 20;  ///< of their texts
};

/// The latest events of one engine: a ring, bounded in events and in bytes. To add one never waits for a
/// reader. Where nobody listens, nothing is kept; who listened a minute ago may come back and go on where he
/// was. Thread-safe.
class EventLog : public std::enable_shared_from_this<EventLog> {
 public:
  /// `clock` has to outlive it.
  explicit EventLog(const Clock& clock, EventLimits limits = {});

  /// Does anybody listen, or did within the last minute? Where not, an event need not be made.
  [[nodiscard]] bool wanted() noexcept;

  /// Adds an event, where it is wanted. `data` is an object with its `_stamp`, and holds no secret; `user` is
  /// whose job it is about, and empty for all that is no job's.
  void append(std::string_view tag, const Json& data, std::string_view user);

  /// Events may have been missed, for this reason: all readers end behind those that are there.
  void lose(std::string reason);

  /// A reader of what comes from now on; with the `id` of an event, of what comes behind that one. Errors:
  /// not_found, where not all of that is there, and for an id that this log did not give.
  [[nodiscard]] Result<std::unique_ptr<EventReader>> reader(const EventPermit& permit,
                                                            std::string_view after = {});

 private:
  friend class EventReader;

  void forget_all();
  [[nodiscard]] std::uint64_t next_number() const noexcept { return first_ + events_.size(); }

  const Clock& clock_;
  const EventLimits limits_;
  const std::string epoch_;  ///< tells the ids of this log from those of others

  /// Set under mutex_; read without it, since nobody listens most of the time.
  std::atomic<bool> wanted_{false};

  std::mutex mutex_;  // guards all that follows
  std::deque<EventPtr> events_;
  std::size_t bytes_ = 0;
  std::uint64_t first_ = 1;  ///< number of the first of events_
  std::uint64_t losses_ = 0;
  std::uint64_t lost_at_ = 0;  ///< number of the event that would have come when events were lost last
  std::string lost_why_;
  std::size_t readers_ = 0;
  std::vector<Wake> sleepers_;  ///< each once
  SteadyTime last_left_;
};

}  // namespace rest_fcgi::master
