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

/// Runs a chunk that this program made, given as JSON, for the owner of the token. Returns the result, or
/// null if the chunk was refused or failed. Called on any thread.
using CallMaster = StreamRegistry::Subscription::Call;

/// The form in which a stream sends events.
struct FeedFormat {
  enum class Shows {
    blocks,     ///< Blocks of server-sent events. Sending starts at once.
    lines,      ///< WebSocket messages `data: {...}`
    json,       ///< WebSocket messages with JSON
    formatted,  ///< WebSocket messages with Salt's formatted view
  };
  Shows shows = Shows::blocks;
  bool answers = false;             ///< The stream answers each message of the client, and also accepts
                                    ///< binary messages.
  std::uint16_t logged_out = 1008;  ///< The WebSocket close code for the end of the session.
  FormattedStyle style{};
  std::vector<std::string> tags{};  ///< Globs. The stream sends only events whose tag matches a glob. If the
                                    ///< list is empty, it sends all events.
};

/// What the formatted view needs in addition to events.
struct FormattedSetup {
  std::optional<std::string> refused{};  ///< The reason why the user may not have the view; absent if the
                                         ///< user may have it.
  Json grains;                           ///< An object from minion ids to grains. If it is null, the stream
                                         ///< requests the grains.
  CallMaster call;
};

/// An event stream of one listener. A WebSocket sends events after the client's message `websocket client
/// ready` and skips earlier events. The stream ends when the session ends or the reader reports an error.
class EventFeed final : public http::Feed {
 public:
  EventFeed(FeedFormat form, std::unique_ptr<StreamRegistry::Subscription> subscription,
            std::unique_ptr<master::EventReader> reader, const Clock& clock);

  /// Makes the stream begin with a message that events after `last_event_id` are lost.
  void report_lost_events(std::string_view last_event_id);
  /// Makes the stream continue after the listener's last event. Events from before the client's message
  /// `websocket client ready` are then sent as well.
  void resume() { resumes_ = true; }
  /// Sets what the formatted view needs. REQUIRES: the stream shows the formatted view.
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
  std::size_t replies_ = 0;  ///< Number of messages of the client that are not yet answered.
  std::optional<End> end_;
  master::EventPtr lost_events_;
  std::optional<FormattedEvents> view_;
  FormattedSetup setup_;
};

}  // namespace rest_fcgi::netapi
