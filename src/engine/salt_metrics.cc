// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/salt_metrics.h"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

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
std::string state_of(std::string_view fun, const std::optional<JsonValue>& args) {
  if (fun == "state.highstate") return "highstate";
  const bool is_single = fun == "state.single";
  if (!is_single && fun != "state.sls" && fun != "state.apply") return "";
  if (!args || args->size() == 0) return fun == "state.apply" ? "highstate" : "";
  const JsonValue first = *args->elements().begin();
  if (!first.is(JsonValue::Kind::object)) return std::string(first.text());
  return std::string(text_at(first, is_single ? "fun" : "mods"));
}

bool is_boolean(const std::optional<JsonValue>& value, bool wanted) {
  return value && value->is(JsonValue::Kind::boolean) && value->boolean() == wanted;
}

/// Returns whether no state in a return has failed. Functions other than `state.*` may return states, too.
/// The key of a state in a return is `STATE_|-ID_|-NAME_|-FUNCTION`.
bool has_good_states(std::string_view fun, const std::optional<JsonValue>& ret) {
  if (!ret || !ret->is(JsonValue::Kind::object)) return true;
  for (const JsonMember member : ret->members()) {
    const bool is_state = fun.starts_with("state.") || member.key.find("_|-") != std::string_view::npos;
    if (is_state && is_boolean(member.value.find("result"), false)) return false;
  }
  return true;
}

/// Returns the time in seconds that the states in a return took, or std::nullopt if the return has no states.
/// Salt's `duration` of a state is in milliseconds.
std::optional<double> duration_of(const std::optional<JsonValue>& ret) {
  if (!ret || !ret->is(JsonValue::Kind::object) || ret->size() == 0) return std::nullopt;
  double sum = 0;
  for (const JsonMember member : ret->members()) {
    const auto duration = member.value.find("duration");
    const auto milliseconds = duration ? duration->number() : std::nullopt;
    if (!milliseconds) return std::nullopt;
    sum += *milliseconds;
  }
  return sum / 1000;
}

/// Returns whether the arguments of a call have `test=True` or `mock=True`, in one of the forms that Salt
/// accepts.
bool is_test_in(const std::optional<JsonValue>& args) {
  for (const JsonValue arg : args ? args->elements() : JsonValue().elements()) {
    for (const std::string_view key : {"test", "mock"}) {
      if (is_boolean(arg.find(key), true)) return true;
      const std::string_view text = arg.text();
      const bool names_key = text.starts_with(key) && text.substr(key.size()).starts_with('=');
      if (names_key && (text.ends_with("=True") || text.ends_with("=true"))) return true;
    }
    // A call of a list of functions has a list of arguments for each function.
    if (arg.is(JsonValue::Kind::array) && is_test_in(arg)) return true;
  }
  return false;
}

/// One function of a call, with its part of an event. A call of a list of functions has several parts.
struct Part {
  std::string fun;
  std::optional<JsonValue> args{};
  std::optional<JsonValue> ret{};
  std::optional<JsonValue> retcode{};
  std::optional<JsonValue> success{};

  [[nodiscard]] bool is_good() const {
    const bool has_good_code = !retcode || retcode->integer().value_or(0) == 0;
    return has_good_code && !is_boolean(success, false) && has_good_states(fun, ret);
  }
};

std::optional<JsonValue> args_of(const JsonValue& data) {
  const auto args = data.find("arg");
  return args && args->size() > 0 ? args : data.find("fun_args");
}

/// Returns the member `name` of a value that is a map, and the value itself otherwise.
std::optional<JsonValue> of_function(const std::optional<JsonValue>& value, std::string_view name) {
  return value && value->is(JsonValue::Kind::object) ? value->find(name) : value;
}

std::vector<Part> parts_of(const JsonValue& data) {
  const JsonValue fun = data.find("fun").value_or(JsonValue());
  const auto args = args_of(data);
  const auto ret = data.find("return");
  const auto retcode = data.find("retcode");
  const auto success = data.find("success");
  if (!fun.is(JsonValue::Kind::array)) {
    return fun.text().empty() ? std::vector<Part>()
                              : std::vector{Part{std::string(fun.text()), args, ret, retcode, success}};
  }
  std::vector<Part> parts;
  std::vector<JsonValue> each_args;
  for (const JsonValue one : args ? args->elements() : JsonValue().elements()) each_args.push_back(one);
  for (const JsonValue name : fun.elements()) {
    Part part{std::string(name.text())};
    if (parts.size() < each_args.size()) part.args = each_args[parts.size()];
    part.ret = ret ? ret->find(part.fun) : std::nullopt;
    part.retcode = of_function(retcode, part.fun);
    part.success = of_function(success, part.fun);
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Users of the API choose the text, so a text of more than 128 bytes becomes `other`.
std::string_view label(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  return text.size() > kLongest ? "other" : text;
}

std::string_view word(bool value) {
  return value ? "true" : "false";
}

}  // namespace

SaltMetrics::SaltMetrics(std::shared_ptr<Registry> registry, const Clock& clock, bool ignores_tests)
    : registry_(std::move(registry)),
      clock_(clock),
      ignores_tests_(ignores_tests),
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
                                     kMinionSeries})),
      last_responses_(registry_->gauges({"salt_responses_last_received_response",
                                         "Last event received from minion, Unix timestamp",
                                         {"minion"},
                                         kMinionSeries})),
      durations_(registry_->gauges(
          {"salt_job_duration_seconds", "Last duration of a Salt job in seconds", {"function", "state"}})) {
  registry_->on_collect([this](Writer& writer) {
    const MutexLock lock(mutex_);
    writer.gauge("salt_health_minions_total", "Total number of observed minions", minions_.size());
  });
}

void SaltMetrics::job_new(std::string_view fun, std::size_t minions) {
  while (!fun.empty()) job_new(next_token(fun, ','), "", minions);
}

void SaltMetrics::job_new(std::string_view fun, std::string_view state, std::size_t minions) {
  new_jobs_.with({label(fun), label(state)}).add();
  expected_.with({label(fun), label(state)}).add(minions);
}

void SaltMetrics::returned(std::string_view minion, std::string_view fun, bool success) {
  while (!fun.empty()) function_responses_.with({label(next_token(fun, ',')), "", word(success)}).add();
  responses_.with({minion, word(success)}).add();
  heard_of(minion);
}

double SaltMetrics::now() const {
  const auto since_epoch = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall().time_since_epoch());
  return static_cast<double>(since_epoch.count());
}

void SaltMetrics::heard_of(std::string_view minion) {
  last_responses_.with({minion}).set(now());
}

void SaltMetrics::add_minion(std::string_view minion) {
  {
    const MutexLock lock(mutex_);
    if (minions_.size() >= kMinionSeries || minions_.contains(minion)) return;
    minions_.emplace(minion);
  }
  heartbeats_.with({minion}).set(now());
}

void SaltMetrics::minion_start(std::string_view minion) {
  add_minion(minion);
  heard_of(minion);
  heartbeats_.with({minion}).set(now());
}

void SaltMetrics::minion_gone(std::string_view minion) {
  {
    const MutexLock lock(mutex_);
    const auto found = minions_.find(minion);
    if (found == minions_.end()) return;
    minions_.erase(found);
  }
  heartbeats_.erase({minion});
  last_responses_.erase({minion});
}

/// Salt sets `success` of some jobs even if states failed, and `salt-call` does not send it. Therefore the
/// return code and the states count, and `success` only if the event has it.
void SaltMetrics::on_return(std::string_view minion, const JsonValue& data) {
  const bool is_scheduled = !text_at(data, "schedule").empty();
  bool all_good = true;
  for (const Part& part : parts_of(data)) {
    const std::string state = state_of(part.fun, part.args);
    const bool success = part.is_good();
    all_good = all_good && success;
    (is_scheduled ? scheduled_ : function_responses_)
        .with({label(part.fun), label(state), word(success)})
        .add();
    if (part.fun == "state.highstate" || state == "highstate")
      status_.with({minion, label(part.fun), label(state)}).set(success ? 1 : 0);
    if (const auto seconds = duration_of(part.ret))
      durations_.with({label(part.fun), label(state)}).set(*seconds);
  }
  responses_.with({minion, word(all_good)}).add();
}

void SaltMetrics::on_event(std::string_view tag, const JsonValue& data) {
  const bool is_accepted = text_at(data, "act") == "accept" && !text_at(data, "id").empty();
  if ((tag == "salt/key" || tag == "salt/auth") && is_accepted) return add_minion(text_at(data, "id"));
  if (tag == "salt/key" && text_at(data, "act") == "delete") return minion_gone(text_at(data, "id"));
  if (next_token(tag, '/') != "salt") return;
  const std::string_view kind = next_token(tag, '/');
  // `id` is the job id in a tag `salt/job/...` or `salt/run/...`, and the minion id in other tags.
  const std::string_view id = next_token(tag, '/');
  const std::string_view what = next_token(tag, '/');
  if (kind == "beacon" && what == "status") return minion_start(id);
  if (kind == "minion" && what == "start") return minion_start(id);
  if (kind == "beacon") return heard_of(id);
  if (kind != "job" && kind != "run") return;
  const std::vector<Part> parts = parts_of(data);
  if (parts.empty() || (ignores_tests_ && is_test_in(args_of(data)))) return;
  if (what == "new") {
    const auto minions = data.find("minions");
    for (const Part& part : parts)
      job_new(part.fun, state_of(part.fun, part.args), minions ? minions->size() : 0);
  } else if (what == "ret") {
    const std::string_view named = text_at(data, "id");
    const std::string_view minion = named.empty() ? "master" : named;
    if (kind == "job") add_minion(minion);
    heard_of(minion);
    on_return(minion, data);
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
    const MutexLock lock(signal_->mutex);
    signal_->is_stopping = true;
  }
  signal_->changed.notify_all();
}

void EventCounter::run() {
  while (true) {
    auto reader = master_->events({auth::EventScope::all}, {});
    if (reader) read(**reader);
    MutexLock lock(signal_->mutex);
    constexpr std::chrono::seconds kPause{1};
    if (signal_->changed.wait_for(lock, kPause,
                                  [this]() REQUIRES(signal_->mutex) { return signal_->is_stopping; }))
      return;
  }
}

void EventCounter::read(master::EventReader& reader) {
  // The approximate size in bytes of the result of one `EventReader::read`.
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const master::Wake wake = std::make_shared<const std::function<void()>>([signal = signal_] {
    const MutexLock lock(signal->mutex);
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
    MutexLock lock(signal_->mutex);
    if (events.empty())
      signal_->changed.wait(
          lock, [this]() REQUIRES(signal_->mutex) { return signal_->has_events || signal_->is_stopping; });
    signal_->has_events = false;
    if (signal_->is_stopping) return;
  }
}

}  // namespace rest_fcgi::engine
