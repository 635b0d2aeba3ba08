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
#include "rest_fcgi/netapi/streams.h"

namespace rest_fcgi::netapi {

/// Runs a chunk that is ours, not the caller's, in the name of whoever has the token; gives what it returned,
/// null where it may not be run or failed. The question is the chunk, as JSON. Used on any thread.
using AskMaster = Streams::Seat::Ask;

/// How one stream shows events.
struct FeedForm {
  enum class Shows {
    blocks,     ///< of server-sent events, from the start on
    lines,      ///< on a WebSocket: `data: {...}`
    json,       ///< on a WebSocket
    formatted,  ///< on a WebSocket: a view that Salt calls formatted
  };
  Shows shows = Shows::blocks;
  bool answers = false;             ///< what the client says on its WebSocket, and takes it as bytes, too
  std::uint16_t logged_out = 1008;  ///< close code
  FormattedStyle style{};
  std::vector<std::string> tags{};  ///< globs; an event that fits one of them is shown; empty: all are
};

/// What the formatted view needs beside events.
struct FormattedNeeds {
  std::optional<std::string> refused{};  ///< why this user may not have it
  Json grains;                           ///< of the minions, by id; null: they have to be asked
  AskMaster ask;
};

/// A stream of events for one listener. On a WebSocket events are shown from the message `websocket client
/// ready` on; what was before is not kept. Errors of the reader, and the end of the session, are its end.
class EventFeed final : public http::Feed {
 public:
  EventFeed(FeedForm form, std::unique_ptr<Streams::Seat> seat, std::unique_ptr<master::EventReader> reader,
            const Clock& clock);

  /// The listener wanted to go on behind this event, and that cannot be: it is told so first.
  void tell_of_loss(std::string_view last_event_id);
  /// The listener goes on where it was: events before it is ready count as well.
  void keep_from_start() { keeps_ = true; }
  /// REQUIRES: it shows the formatted view.
  void set_needs(FormattedNeeds needs) { needs_ = std::move(needs); }

  std::optional<End> take(std::vector<Part>& parts, std::size_t most_bytes, const http::Wake& wake) override;
  void on_message(std::string_view message, bool is_text) override;
  [[nodiscard]] std::string_view keep_alive() const noexcept override;

 private:
  void begin();
  [[nodiscard]] std::string_view message_of(const master::Event& event) const noexcept;
  void add_own(std::vector<Part>& parts);
  void add(const master::EventPtr& event, std::vector<Part>& parts);
  std::size_t add_frames(std::vector<Part>& parts);
  void ask_for_jobs_and_grains();
  void ask_for_grains(const std::vector<std::string>& minions);

  const FeedForm form_;
  const Clock& clock_;
  const std::unique_ptr<Streams::Seat> seat_;
  const std::unique_ptr<master::EventReader> reader_;
  bool opened_ = false;
  bool ready_ = false;
  bool keeps_ = false;
  std::size_t replies_ = 0;  ///< that are to go out
  std::optional<End> end_;
  master::EventPtr loss_;
  std::optional<FormattedEvents> view_;
  FormattedNeeds needs_;
};

}  // namespace rest_fcgi::netapi
