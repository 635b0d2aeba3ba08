// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netapi/formatted_events.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/events.h"
#include "rest_fcgi/netapi/stream_registry.h"

namespace rest_fcgi::netapi {

/// Runs a JSON chunk with the rights of a token's owner. Returns JSON null after a failure. Thread-safe.
using CallMaster = StreamRegistry::Subscription::Call;

struct FeedFormat {
  enum class Shows {
    blocks,     ///< `blocks` sends server-sent events, and waits for no message of the client.
    lines,      ///< `lines` sends WebSocket messages `data: {...}`.
    json,       ///< `json` sends WebSocket messages with JSON.
    formatted,  ///< `formatted` sends WebSocket messages with Salt's formatted view.
  };
  Shows shows = Shows::blocks;
  bool answers = false;  ///< If `answers` is true, the stream replies to each message, also to a binary one.
  std::uint16_t logged_out = 1008;  ///< `logged_out` is the WebSocket close code for the session's end.
  FormattedStyle style{};
  std::vector<std::string> tags{};  ///< Globs for the tags of sent events. An empty list sends all events.
};

/// The data that the formatted view needs besides events.
struct FormattedSetup {
  /// The reason why the user may not have the formatted view. Absent if the user may have the view.
  std::optional<std::string> refused{};
  Json grains;  ///< A JSON object from minion id to grains. If null, the stream requests the grains.
  CallMaster call;
};

/// The event stream of one client. A WebSocket gets events only after the client has sent `websocket client
/// ready`. The stream ends when the session ends, or when the reader of events fails.
class EventFeed final : public http::Feed {
 public:
  EventFeed(FeedFormat form, std::unique_ptr<StreamRegistry::Subscription> subscription,
            std::unique_ptr<master::EventReader> reader, const Clock& clock);

  /// Begins the stream with a message that events after the event `last_event_id` are lost.
  void report_lost_events(std::string_view last_event_id);
  /// Continues after the last event that the client got. A WebSocket then also gets events from before its
  /// message `websocket client ready`.
  void resume() { resumes_ = true; }
  /// Sets the data for the formatted view. REQUIRES: the stream shows the formatted view.
  void set_formatted_setup(FormattedSetup needs) { setup_ = std::move(needs); }

  std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes, const http::Wake& wake) override;
  void on_message(std::string_view message, bool is_text) override;
  [[nodiscard]] std::string_view keep_alive() const noexcept override;

 private:
  void begin();
  [[nodiscard]] End told(End end, std::vector<Part>& parts) const;
  [[nodiscard]] std::string_view message_of(const master::Event& event) const noexcept;
  void add_own_messages(std::vector<Part>& parts);
  void add(const master::EventPtr& event, std::vector<Part>& parts);
  std::size_t add_frames(std::vector<Part>& parts);
  void ask_for_jobs_and_grains();
  void ask_for_grains(const std::vector<std::string>& minions);

  const FeedFormat form_;
  const Clock& clock_;
  const std::unique_ptr<StreamRegistry::Subscription> subscription_;
  const std::unique_ptr<master::EventReader> reader_;
  bool opened_ = false;
  bool ready_ = false;
  bool resumes_ = false;
  std::size_t replies_ = 0;  ///< The client's messages without an answer yet.
  std::optional<End> end_;
  master::EventPtr lost_events_;
  std::optional<FormattedEvents> view_;
  FormattedSetup setup_;
};

}  // namespace rest_fcgi::netapi
