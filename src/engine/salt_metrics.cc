// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/salt_metrics.h"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "rest_fcgi/core/log.h"

namespace rest_fcgi::engine {
namespace {

using metrics::Counter;
using metrics::Family;
using metrics::Gauge;
using metrics::Registry;
using metrics::Writer;

constexpr std::size_t kMinionSeries = 10'000;

std::string_view text_at(const JsonValue& data, std::string_view key) {
  const auto found = data.find(key);
  return found ? found->text() : std::string_view();
}

/// Returns the state that a function such as `state.sls` applies. Returns an empty text for other functions.
std::string state_of(std::string_view fun, const JsonValue& data) {
  if (fun == "state.highstate") return "highstate";
  const bool is_single = fun == "state.single";
  if (!is_single && fun != "state.sls" && fun != "state.apply") return "";
  for (const char* key : {"arg", "fun_args"}) {
    const auto args = data.find(key);
    if (!args || args->size() == 0) continue;
    const JsonValue first = *args->elements().begin();
    if (!first.is(JsonValue::Kind::object)) return std::string(first.text());
    return std::string(text_at(first, is_single ? "fun" : "mods"));
  }
  return fun == "state.apply" ? "highstate" : "";
}

bool has_good_states(const JsonValue& data) {
  const auto ret = data.find("return");
  if (!ret || !ret->is(JsonValue::Kind::object)) return true;
  for (const JsonMember member : ret->members()) {
    const auto result = member.value.find("result");
    if (!result || !result->is(JsonValue::Kind::boolean)) return true;
    if (!result->boolean()) return false;
  }
  return true;
}

bool is_true(const JsonValue& data, std::string_view key) {
  const auto found = data.find(key);
  return found && found->is(JsonValue::Kind::boolean) && found->boolean();
}

/// Users of the API choose the text, so a text of more than 128 bytes becomes `other`.
std::string_view label(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  return text.size() > kLongest ? "other" : text;
}

std::string_view word(bool value) {
  return value ? "true" : "false";
}

std::string_view take_part(std::string_view& tag) {
  const std::size_t end = tag.find('/');
  const std::string_view part = tag.substr(0, end);
  tag.remove_prefix(end == std::string_view::npos ? tag.size() : end + 1);
  return part;
}

}  // namespace

SaltMetrics::SaltMetrics(std::shared_ptr<Registry> registry, const Clock& clock)
    : registry_(std::move(registry)),
      clock_(clock),
      new_jobs_(registry_->counters(
          {"salt_new_job_total", "Total number of new jobs processed", {"function", "state"}})),
      expected_(registry_->counters({"salt_expected_responses_total",
                                     "Total number of expected minions responses",
                                     {"function", "state"}})),
      function_responses_(registry_->counters({"salt_function_responses_total",
                                               "Total number of responses per function processed",
                                               {"function", "state", "success"}})),
      scheduled_(registry_->counters({"salt_scheduled_job_return_total",
                                      "Total number of scheduled job responses",
                                      {"function", "state", "success"}})),
      responses_(registry_->counters(
          {"salt_responses_total", "Total number of responses", {"minion", "success"}, kMinionSeries})),
      status_(registry_->gauges({"salt_function_status",
                                 "Last function/state success, 0=Failed, 1=Success",
                                 {"minion", "function", "state"},
                                 kMinionSeries})),
      heartbeats_(registry_->gauges({"salt_health_last_heartbeat",
                                     "Last status beacon received. Unix timestamp",
                                     {"minion"},
                                     kMinionSeries})) {
  registry_->on_collect([this](Writer& writer) {
    const std::lock_guard lock(mutex_);
    writer.gauge("salt_health_minions_total", "Total number of observed minions",
                 static_cast<double>(minions_.size()));
  });
}

void SaltMetrics::job_new(std::string_view fun, std::string_view state, std::size_t minions) {
  new_jobs_.with({label(fun), label(state)}).add();
  expected_.with({label(fun), label(state)}).add(minions);
}

void SaltMetrics::returned(std::string_view minion, std::string_view fun, bool success) {
  function_responses_.with({label(fun), "", word(success)}).add();
  responses_.with({minion, word(success)}).add();
}

void SaltMetrics::add_minion(std::string_view minion) {
  const std::lock_guard lock(mutex_);
  if (minions_.size() < kMinionSeries && !minions_.contains(minion)) minions_.emplace(minion);
}

void SaltMetrics::minion_start(std::string_view minion) {
  add_minion(minion);
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch());
  heartbeats_.with({minion}).set(static_cast<double>(now.count()));
}

void SaltMetrics::minion_gone(std::string_view minion) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = minions_.find(minion);
    if (found == minions_.end()) return;
    minions_.erase(found);
  }
  heartbeats_.erase({minion});
}

void SaltMetrics::on_return(std::string_view minion, std::string_view fun, const JsonValue& data) {
  const std::string state = state_of(fun, data);
  bool success = is_true(data, "success");
  if (!text_at(data, "schedule").empty()) {
    // Salt sets `success` of a scheduled job even if states failed, so the return code and the states count
    // too.
    const auto retcode = data.find("retcode").value_or(JsonValue()).integer();
    success = success && retcode.value_or(0) == 0 && has_good_states(data);
    scheduled_.with({label(fun), label(state), word(success)}).add();
  } else {
    function_responses_.with({label(fun), label(state), word(success)}).add();
  }
  responses_.with({minion, word(success)}).add();
  if (fun == "state.highstate" || state == "highstate")
    status_.with({minion, label(fun), label(state)}).set(success ? 1 : 0);
}

void SaltMetrics::on_event(std::string_view tag, const JsonValue& data) {
  if (tag == "salt/key" && text_at(data, "act") == "delete") return minion_gone(text_at(data, "id"));
  if (take_part(tag) != "salt") return;
  const std::string_view kind = take_part(tag);
  // `id` is the job id in a tag `salt/job/...` or `salt/run/...`, and the minion id in other tags.
  const std::string_view id = take_part(tag);
  const std::string_view what = take_part(tag);
  if (kind == "beacon" && what == "status") return minion_start(id);
  if (kind == "minion" && what == "start") return minion_start(id);
  if (kind != "job" && kind != "run") return;
  const std::string_view fun = text_at(data, "fun");
  if (fun.empty()) return;
  if (what == "new") {
    const auto minions = data.find("minions");
    job_new(fun, state_of(fun, data), minions ? minions->size() : 0);
  } else if (what == "ret") {
    const std::string_view minion = text_at(data, "id");
    if (kind == "job") add_minion(minion);
    on_return(minion.empty() ? "master" : minion, fun, data);
  }
}

EventCounter::EventCounter(std::shared_ptr<master::Master> master, std::shared_ptr<SaltMetrics> metrics)
    : master_(std::move(master)), metrics_(std::move(metrics)) {
  auto started = Thread::start("event-metrics", [this] { run(); });
  if (started) {
    thread_ = *std::move(started);
  } else {
    log::error("metrics: the salt_* metrics are off: " + started.error().message);
  }
}

EventCounter::~EventCounter() {
  {
    const std::lock_guard lock(signal_->mutex);
    signal_->is_stopping = true;
  }
  signal_->changed.notify_all();
}

void EventCounter::run() {
  while (true) {
    auto reader = master_->events({auth::EventScope::all}, {});
    if (reader) read(**reader);
    std::unique_lock lock(signal_->mutex);
    constexpr std::chrono::seconds kPause{1};
    if (signal_->changed.wait_for(lock, kPause, [this] { return signal_->is_stopping; })) return;
  }
}

void EventCounter::read(master::EventReader& reader) {
  // The approximate size in bytes of the result of one `EventReader::read`.
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const master::Wake wake = std::make_shared<const std::function<void()>>([signal = signal_] {
    const std::lock_guard lock(signal->mutex);
    signal->has_events = true;
    signal->changed.notify_all();
  });
  std::vector<master::EventPtr> events;
  while (true) {
    events.clear();
    if (!reader.read(events, kBytes, wake)) return;
    for (const master::EventPtr& event : events) {
      JsonDocument document;
      if (document.parse(event->data(), JsonLimits::none()))
        metrics_->on_event(event->tag(), document.root());
    }
    std::unique_lock lock(signal_->mutex);
    if (events.empty())
      signal_->changed.wait(lock, [this] { return signal_->has_events || signal_->is_stopping; });
    signal_->has_events = false;
    if (signal_->is_stopping) return;
  }
}

}  // namespace rest_fcgi::engine
