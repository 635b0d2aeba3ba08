// SPDX-License-Identifier: MIT
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../master/salt/packed/trouble.h"
#include "master/salt/events/bus_log.h"
#include "netapi/formatted_events.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/master/events.h"
#include "targets.h"

namespace rest_fcgi::fuzz {
namespace {

using Heard = std::vector<std::pair<std::string, std::string>>;  // tags and data

constexpr std::size_t kMaxFrame = 4000;

/// Returns the events that the event bus's reader finds in pieces of `step` bytes. If the bytes are
/// malformed, the last item is "broken".
Heard events_in(std::string_view bytes, std::size_t step) {
  salt::FrameReader frames(kMaxFrame);
  Heard received;
  while (!bytes.empty()) {
    frames.feed(bytes.substr(0, step));
    bytes.remove_prefix(std::min(step, bytes.size()));
    for (auto event = frames.next(); !event || *event; event = frames.next()) {
      if (!event) {
        require_sentence(event.error());
        received.emplace_back("broken", "");
        return received;
      }
      received.emplace_back((*event)->tag, (*event)->data);
    }
  }
  return received;
}

/// An event with this tag can be the return of a minion, in which the server hides no passwords.
bool may_return(std::string_view tag) {
  return is_jid(tag) || tag.find("/ret/") != std::string_view::npos ||
         tag.find("/prog/") != std::string_view::npos;
}

/// A password may be the value of a key `password`, or part of a text.
void require_discretion(JsonValue value) {
  constexpr std::string_view kInside = "--password hunter2";
  if (value.is(JsonValue::Kind::string)) {
    require(!value.text().starts_with(kInside), "a text shows a password");
  } else if (value.is(JsonValue::Kind::array)) {
    for (const JsonValue element : value.elements()) require_discretion(element);
  } else if (value.is(JsonValue::Kind::object)) {
    for (const auto& [key, member] : value.members()) {
      const bool tells = member.is(JsonValue::Kind::string) && member.text() == "hunter2";
      require(key != "password" || !tells, "a password is shown");
      require_discretion(member);
    }
  }
}

/// Checks that an event of an event stream has three lines, and that its data is one JSON object.
void require_block(const master::Event& event) {
  const auto [fields, id] = event.block_with_id();
  const std::string block = std::string(fields).append(id);
  require(is_utf8(block), "a stream is no UTF-8");
  require(block.find('\r') == std::string_view::npos && block.find('\0') == std::string_view::npos,
          "a stream has other line ends");
  require(block.find("\n\n") == block.size() - 2, "a block ends early");
  std::string_view rest = block;
  require(next_line(rest).starts_with("tag: ") && next_line(rest).starts_with("data: ") &&
              next_line(rest).starts_with("id: ") && rest == "\n",
          "a block has other lines");
  require_json(event.json());
  JsonDocument document;
  require(static_cast<bool>(document.parse(event.data(), JsonLimits::none())), "data are no JSON");
  require(document.root().is(JsonValue::Kind::object), "data are no object");
  if (!may_return(event.tag())) require_discretion(document.root());
}

}  // namespace

void msgpack(std::string_view input) {
  const std::string_view trouble = test::trouble_with(input);
  if (!trouble.empty()) throw std::logic_error(std::string(trouble));
}

void bus(std::string_view input) {
  const Heard received = events_in(input, input.size());
  require(received == events_in(input, step_for(input)), "it matters in which parts events come");

  const auto log = std::make_shared<master::EventLog>(system_clock());
  const auto reader = *log->reader({auth::EventScope::all, {}});
  salt::BusLog bus(log);
  netapi::FormattedEvents cherrypy({false, true, "\n\n"}, system_clock());
  netapi::FormattedEvents tornado({true, false, "\n\n"}, system_clock());
  for (const auto& [tag, data] : received) bus.on_event({tag, data});

  std::vector<master::EventPtr> events;
  require(static_cast<bool>(reader->read(events, 100 << 20, nullptr)), "events are lost");
  require(events.size() == received.size(), "an event is left out");
  for (const auto& event : events) {
    require_block(*event);
    for (netapi::FormattedEvents* view : {&cherrypy, &tornado}) {
      view->apply(event->tag(), event->data());
      for (const std::string& frame : view->take_frames()) {
        require(frame.ends_with("\n\n"), "a frame has another end");
        require_json(std::string_view(frame).substr(0, frame.size() - 2));
      }
    }
  }
}

}  // namespace rest_fcgi::fuzz
