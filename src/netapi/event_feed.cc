// SPDX-License-Identifier: MIT
#include "netapi/event_feed.h"

#include <algorithm>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::netapi {
namespace {

using http::Feed;
using master::EventPtr;

// The close codes of WebSockets (RFC 6455, section 7.4.1, and IANA's registry).
constexpr std::uint16_t kNotThatData = 1003;
constexpr std::uint16_t kPolicy = 1008;
constexpr std::uint16_t kRestarts = 1012;
constexpr std::uint16_t kTryAgain = 1013;

/// The number of events after which `EventFeed::take` returns, even if the client gets none of these events.
constexpr std::size_t kMaxEventsPerTurn = 256;

constexpr std::string_view kReady = "websocket client ready";
constexpr std::string_view kReceived = "server received message";
constexpr std::string_view kOpening = "retry: 400\n";
constexpr std::string_view kComment = ": \n\n";

Feed::End ended(std::uint16_t code, std::string_view reason) {
  constexpr std::size_t kMax = 120;
  return {code, excerpt(reason, kMax)};
}

}  // namespace

EventFeed::EventFeed(FeedFormat form, std::unique_ptr<StreamRegistry::Subscription> subscription,
                     std::unique_ptr<master::EventReader> reader, const Clock& clock)
    : form_(std::move(form)),
      clock_(clock),
      subscription_(std::move(subscription)),
      reader_(std::move(reader)) {
  ready_ = form_.shows == FeedFormat::Shows::blocks;
  if (form_.shows == FeedFormat::Shows::formatted) view_.emplace(form_.style, clock);
}

void EventFeed::report_lost_events(std::string_view last_event_id) {
  const Json data = written_object([&](JsonWriter& writer) {
    writer.key("last_event_id").string(last_event_id);
    writer.key("_stamp").string(iso_stamp(clock_.wall()));
  });
  lost_events_ = std::make_shared<const master::Event>("", "rest_fcgi/events/lost", data, std::string());
}

std::optional<Feed::End> EventFeed::take(std::vector<Part>& parts, std::size_t most_bytes,
                                         const http::Wake& wake) {
  StreamRegistry::Subscription::Update update = subscription_->poll(wake);
  if (!update.end_reason.empty()) return told(ended(form_.logged_out, update.end_reason), parts);
  if (update.permit) reader_->permit(*std::move(update.permit));
  add_own_messages(parts);
  if (end_) return end_;
  if (!ready_) return std::nullopt;
  for (const auto& [jid, job] : update.answers) view_->fill_in_job(jid, own_document(job).root());
  std::size_t frame_bytes = add_frames(parts);
  std::vector<EventPtr> events;
  std::size_t opened_file = 0;
  while (true) {
    events.clear();
    const auto read = reader_->read(events, most_bytes, wake);
    for (const EventPtr& event : events) {
      add(event, parts);
      // A frame of the formatted view may be large, because it has all minions or all jobs. After
      // `most_bytes`, frames are therefore made only once for all remaining events.
      if (frame_bytes < most_bytes) frame_bytes += add_frames(parts);
    }
    add_frames(parts);
    if (view_) ask_for_jobs_and_grains();
    if (!read) {
      const bool slow = read.error().kind == ErrorKind::timeout;
      End end = ended(slow ? kTryAgain : kRestarts, read.error().message);
      end.is_slow = slow;
      return told(std::move(end), parts);
    }
    if (events.empty() || !parts.empty()) return std::nullopt;
    opened_file += events.size();
    if (opened_file < kMaxEventsPerTurn) continue;
    // Ends this call, so that other streams can run. `wake` makes the server call `take` again.
    if (wake) (*wake)();
    return std::nullopt;
  }
}

/// Returns `end`. Server-sent events have no field for the reason of an end, so their last part is a comment
/// with the reason.
Feed::End EventFeed::told(End end, std::vector<Part>& parts) const {
  if (form_.shows == FeedFormat::Shows::blocks) parts.push_back(Part::of(format(": {}\n\n", end.reason)));
  return end;
}

void EventFeed::add_own_messages(std::vector<Part>& parts) {
  const bool is_socket = form_.shows != FeedFormat::Shows::blocks;
  if (!std::exchange(opened_, true) && !is_socket) parts.push_back({nullptr, kOpening});
  for (; replies_ > 0; --replies_) parts.push_back({nullptr, kReceived});
  if (!ready_ || !lost_events_ || view_) return;
  const EventPtr loss = std::exchange(lost_events_, nullptr);
  // The message about lost events has no id, so a reconnecting client names the last event before it.
  parts.push_back({loss, is_socket ? message_of(*loss) : loss->block()});
}

std::string_view EventFeed::message_of(const master::Event& event) const noexcept {
  return form_.shows == FeedFormat::Shows::lines ? event.data_lines() : event.json();
}

void EventFeed::add(const EventPtr& event, std::vector<Part>& parts) {
  const auto fits = [&event](const std::string& glob) { return glob_match(glob, event->tag()); };
  if (!form_.tags.empty() && std::none_of(form_.tags.begin(), form_.tags.end(), fits)) return;
  if (view_) {
    view_->apply(event->tag(), event->data());
  } else if (form_.shows == FeedFormat::Shows::blocks) {
    for (const std::string_view piece : event->block_with_id()) parts.push_back({event, piece});
  } else {
    parts.push_back({event, message_of(*event)});
  }
}

/// Returns the size of the added frames in bytes.
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
    subscription_->call(std::move(chunk), setup_.call, jid);
  }
}

/// Starts a job that returns grains as events. An empty list `minions` means all minions.
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
  subscription_->call(std::move(chunk), setup_.call);
}

void EventFeed::begin() {
  ready_ = true;
  // A new stream skips events from before the client's ready message. A resumed stream keeps these events. A
  // stream with grains keeps them, too, because the events may be newer than the grains.
  if (!resumes_ && setup_.grains == Json()) reader_->skip_to_end();
  if (!view_) return;
  if (setup_.refused) {
    end_ = ended(kPolicy, *setup_.refused);
  } else if (!form_.style.minions_are_listed && setup_.grains == Json()) {
    ask_for_grains({});
  } else if (!form_.style.minions_are_listed) {
    view_->start(own_document(setup_.grains).root());
  }
  setup_.grains = Json();
}

void EventFeed::on_message(std::string_view message, bool is_text) {
  if (form_.answers && !is_text && !is_utf8(message)) {
    end_ = ended(kNotThatData, "Expected a message that is UTF-8 text.");
    return;
  }
  if (form_.answers) ++replies_;
  if (!ready_ && message == kReady && (is_text || form_.answers)) begin();
}

std::string_view EventFeed::keep_alive() const noexcept {
  return form_.shows == FeedFormat::Shows::blocks ? kComment : std::string_view();
}

}  // namespace rest_fcgi::netapi
