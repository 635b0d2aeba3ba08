// SPDX-License-Identifier: MIT
#include "netapi/event_feed.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::netapi {
namespace {

using http::Feed;
using master::EventPtr;

// RFC 6455, 7.4.1, and the registry of IANA that it begins.
constexpr std::uint16_t kNotThatData = 1003;
constexpr std::uint16_t kPolicy = 1008;
constexpr std::uint16_t kRestarts = 1012;
constexpr std::uint16_t kTryAgain = 1013;

/// In one turn of a feed, where none of them is shown.
constexpr std::size_t kMostLookedAt = 256;

constexpr std::string_view kReady = "websocket client ready";
constexpr std::string_view kReceived = "server received message";
constexpr std::string_view kOpening = "retry: 400\n";
constexpr std::string_view kComment = ": \n\n";

/// A reason fits into a close frame.
Feed::End ended(std::uint16_t code, std::string_view reason) {
  constexpr std::size_t kMost = 120;
  return {code, excerpt(reason, kMost)};
}

}  // namespace

EventFeed::EventFeed(FeedForm form, std::unique_ptr<Streams::Seat> seat,
                     std::unique_ptr<master::EventReader> reader, const Clock& clock)
    : form_(std::move(form)), clock_(clock), seat_(std::move(seat)), reader_(std::move(reader)) {
  ready_ = form_.shows == FeedForm::Shows::blocks;
  if (form_.shows == FeedForm::Shows::formatted) view_.emplace(form_.style, clock);
}

void EventFeed::tell_of_loss(std::string_view last_event_id) {
  const Json data = written_object([&](JsonWriter& writer) {
    writer.key("last_event_id").string(last_event_id);
    writer.key("_stamp").string(master::iso_stamp(clock_.wall()));
  });
  loss_ = std::make_shared<const master::Event>("", "rest_fcgi/events/lost", data, std::string());
}

std::optional<Feed::End> EventFeed::take(std::vector<Part>& parts, std::size_t most_bytes,
                                         const http::Wake& wake) {
  Streams::Seat::News news = seat_->news(wake);
  if (!news.over.empty()) return ended(form_.logged_out, news.over);
  if (news.permit) reader_->permit(*std::move(news.permit));
  add_own(parts);
  if (end_) return end_;
  if (!ready_) return std::nullopt;
  for (const auto& [jid, job] : news.answers) view_->complete(jid, own_document(job).root());
  std::size_t frame_bytes = add_frames(parts);
  std::vector<EventPtr> events;
  std::size_t looked_at = 0;
  while (true) {
    events.clear();
    const auto read = reader_->read(events, most_bytes, wake);
    for (const EventPtr& event : events) {
      add(event, parts);
      // A frame holds all there is: where frames are large, one shows what several events have changed.
      if (frame_bytes < most_bytes) frame_bytes += add_frames(parts);
    }
    add_frames(parts);
    if (view_) ask_for_jobs_and_grains();
    if (!read) {
      const bool slow = read.error().kind == ErrorKind::timeout;
      return ended(slow ? kTryAgain : kRestarts, read.error().message);
    }
    if (events.empty() || !parts.empty()) return std::nullopt;
    looked_at += events.size();
    if (looked_at < kMostLookedAt) continue;
    // Other streams have their turn first.
    if (wake) (*wake)();
    return std::nullopt;
  }
}

/// What is no event of the master's.
void EventFeed::add_own(std::vector<Part>& parts) {
  const bool is_socket = form_.shows != FeedForm::Shows::blocks;
  if (!std::exchange(opened_, true) && !is_socket) parts.push_back({nullptr, kOpening});
  for (; replies_ > 0; --replies_) parts.push_back({nullptr, kReceived});
  if (!ready_ || !loss_ || view_) return;
  const EventPtr loss = std::exchange(loss_, nullptr);
  // Without an id: a client that reconnects continues after the last event that it got.
  parts.push_back({loss, is_socket ? message_of(*loss) : loss->block()});
}

/// Returns the text of an event on a WebSocket. REQUIRES: the stream does not show the formatted view.
std::string_view EventFeed::message_of(const master::Event& event) const noexcept {
  return form_.shows == FeedForm::Shows::lines ? event.data_lines() : event.json();
}

void EventFeed::add(const EventPtr& event, std::vector<Part>& parts) {
  const auto fits = [&event](const std::string& glob) { return glob_match(glob, event->tag()); };
  if (!form_.tags.empty() && std::none_of(form_.tags.begin(), form_.tags.end(), fits)) return;
  if (view_) {
    view_->hear(event->tag(), event->data());
  } else if (form_.shows == FeedForm::Shows::blocks) {
    for (const std::string_view piece : event->block_with_id()) parts.push_back({event, piece});
  } else {
    parts.push_back({event, message_of(*event)});
  }
}

/// What has changed in the formatted view, where there is one; gives its bytes.
std::size_t EventFeed::add_frames(std::vector<Part>& parts) {
  if (!view_) return 0;
  std::size_t bytes = 0;
  for (std::string& frame : view_->take_frames()) {
    bytes += frame.size();
    parts.push_back(Part::of(std::move(frame)));
  }
  return bytes;
}

void EventFeed::ask_for_jobs_and_grains() {
  if (const auto minions = view_->take_new_minions(); !minions.empty()) ask_for_grains(minions);
  for (const std::string& jid : view_->take_unknown_jobs()) {
    std::string chunk;
    JsonWriter writer(chunk);
    writer.begin_object().key("client").string("runner").key("fun").string("jobs.list_job");
    writer.key("jid").string(jid).end_object();
    seat_->ask(std::move(chunk), needs_.ask, jid);
  }
}

/// Of these minions; empty: of all. They come as events.
void EventFeed::ask_for_grains(const std::vector<std::string>& minions) {
  std::string chunk;
  JsonWriter writer(chunk);
  writer.begin_object().key("client").string("local_async").key("fun").string("grains.items");
  if (minions.empty()) {
    writer.key("tgt").string("*");
  } else {
    write_strings(writer.key("tgt_type").string("list").key("tgt"), minions);
  }
  writer.end_object();
  seat_->ask(std::move(chunk), needs_.ask);
}

/// The client is ready: from now on events go out.
void EventFeed::begin() {
  ready_ = true;
  // Events since the handshake change the grains that were read in it.
  if (!keeps_ && needs_.grains == Json()) reader_->skip_to_end();
  if (!view_) return;
  if (needs_.refused) {
    end_ = ended(kPolicy, *needs_.refused);
  } else if (!form_.style.minions_are_listed && needs_.grains == Json()) {
    ask_for_grains({});
  } else if (!form_.style.minions_are_listed) {
    view_->start(own_document(needs_.grains).root());
  }
  needs_.grains = Json();
}

void EventFeed::on_message(std::string_view message, bool is_text) {
  if (form_.answers && !is_text && !is_utf8(message)) {
    end_ = ended(kNotThatData, "Messages are text.");
    return;
  }
  if (form_.answers) ++replies_;
  if (!ready_ && message == kReady && (is_text || form_.answers)) begin();
}

std::string_view EventFeed::keep_alive() const noexcept {
  return form_.shows == FeedForm::Shows::blocks ? kComment : std::string_view();
}

}  // namespace rest_fcgi::netapi
