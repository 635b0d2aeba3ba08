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

/// Runs a JSON chunk of this program for the token's owner, on any thread. Returns JSON null after a failure.
using CallMaster = StreamRegistry::Subscription::Call;

struct FeedFormat {
  enum class Shows {
    blocks,     ///< blocks of server-sent events, from the start
    lines,      ///< WebSocket messages `data: {...}`
    json,       ///< WebSocket messages with JSON
    formatted,  ///< WebSocket messages with Salt's formatted view
  };
  Shows shows = Shows::blocks;
  bool answers = false;             ///< the stream answers each message, and accepts binary messages
  std::uint16_t logged_out = 1008;  ///< the WebSocket close code for the session's end
  FormattedStyle style{};
  std::vector<std::string> tags{};  ///< globs for the tags of sent events; an empty list sends all events
};

/// The data that the formatted view needs besides events.
struct FormattedSetup {
  std::optional<std::string> refused{};  ///< the reason why the user may not have the view; absent if allowed
  Json grains;                           ///< an object from minion id to grains; null requests the grains
  CallMaster call;
};

/// The event stream of one listener. A WebSocket sends events after the client's message `websocket client
/// ready`. The stream ends with the session or with an error of the reader.
class EventFeed final : public http::Feed {
 public:
  EventFeed(FeedFormat form, std::unique_ptr<StreamRegistry::Subscription> subscription,
            std::unique_ptr<master::EventReader> reader, const Clock& clock);

  /// Lets the stream begin with a message that events after `last_event_id` are lost.
  void report_lost_events(std::string_view last_event_id);
  /// Continues after the listener's last event, with events from before `websocket client ready`.
  void resume() { resumes_ = true; }
  /// REQUIRES: the stream shows the formatted view.
  void set_formatted_setup(FormattedSetup needs) { setup_ = std::move(needs); }

  std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes, const http::Wake& wake) override;
  void on_message(std::string_view message, bool is_text) override;
  [[nodiscard]] std::string_view keep_alive() const noexcept override;

 private:
  void begin();
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
  std::size_t replies_ = 0;  ///< the number of unanswered messages of the client
  std::optional<End> end_;
  master::EventPtr lost_events_;
  std::optional<FormattedEvents> view_;
  FormattedSetup setup_;
};

}  // namespace rest_fcgi::netapi
