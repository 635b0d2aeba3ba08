// SPDX-License-Identifier: MIT
#include "master/salt/events/bus_log.h"

#include <string>

#include "master/salt/events/redaction.h"
#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/json.h"

namespace rest_fcgi::salt {
namespace {

Json data_of(const Event& event) {
  std::string text;
  const Redaction redaction(event.tag);
  const auto written = append_json(event.data, text, &redaction, master::kMaxEventDepth);
  if (written && text.starts_with('{')) return Json::trusted(std::move(text));
  std::string instead;
  JsonWriter(instead)
      .begin_object()
      .key("error")
      .string(written ? "The data of this event are no map." : written.error().message)
      .end_object();
  return Json::trusted(std::move(instead));
}

}  // namespace

void BusLog::hear(const Event& event) {
  owners_.note(event);
  if (log_->wanted()) log_->append(event.tag, data_of(event), owners_.owner_of(event));
}

void BusLog::lost() {
  log_->lose("The Salt master's event bus was lost: events may have been missed.");
}

}  // namespace rest_fcgi::salt
