// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/health.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::metrics {
namespace {

constexpr std::chrono::seconds kPause{1};

Result<void> outcome_of(const Health::Probe& probe, SteadyTime deadline) {
  try {
    return probe(deadline);
  } catch (const std::exception& exception) {
    return Error{ErrorKind::internal, exception.what()};
  }
}

}  // namespace

void Health::add(std::string name, Probe probe) {
  const MutexLock lock(mutex_);
  states_.push_back({std::move(name), std::move(probe)});
}

void Health::start(State& state, SteadyTime deadline) {
  state.is_running = true;
  state.result.reset();
  auto started = Thread::start(
      "health",
      [this, &state, deadline] {
        Result<void> result = outcome_of(state.probe, deadline);
        const MutexLock lock(mutex_);
        state.good_at = result ? std::optional(clock_.steady()) : std::nullopt;
        state.result = std::move(result);
        state.is_running = false;
        ended_.notify_all();
      },
      kSmallStack);
  if (started) {
    state.thread = *std::move(started);
    return;
  }
  state.is_running = false;
  state.result = std::move(started).error();
}

std::vector<Check> Health::checks() {
  const Waiting waiting;
  MutexLock lock(mutex_);
  const SteadyTime now = clock_.steady();
  if (!is_checking_ && (!checked_at_ || now - *checked_at_ >= kPause)) {
    is_checking_ = true;
    checked_at_ = now;
    for (State& state : states_) {
      if (state.is_running) continue;
      state.thread.join();
      start(state, now + limit_);
    }
    ended_.wait_for(lock, limit_, [this]() REQUIRES(mutex_) {
      return std::none_of(states_.begin(), states_.end(), [](const State& one) { return one.is_running; });
    });
    for (State& state : states_) state.misses = state.result ? 0 : state.misses + 1;
    is_checking_ = false;
    ended_.notify_all();
  } else {
    ended_.wait_for(lock, limit_, [this]() REQUIRES(mutex_) { return !is_checking_; });
  }
  std::vector<Check> checks;
  for (const State& state : states_) checks.push_back(check_of(state));
  return checks;
}

Check Health::check_of(const State& state) const {
  if (state.result) {
    return {state.name, state.result->ok(), *state.result ? "" : state.result->error().message};
  }
  const bool may_be_busy =
      state.good_at && (state.misses < 2 || clock_.steady() - *state.good_at < kPatience);
  return {state.name, may_be_busy, format("no answer within {} ms", limit_.count())};
}

bool is_ready(const std::vector<Check>& checks) {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok; });
}

std::string summary_of(const std::vector<Check>& checks) {
  std::string failed;
  for (const Check& check : checks) {
    if (!check.ok) failed += format("{}{}: {}", failed.empty() ? "" : "; ", check.name, check.text);
  }
  return failed.empty() ? "ready" : "not ready: " + failed;
}

std::string health_text(const std::vector<Check>& checks) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("ready").boolean(is_ready(checks)).key("checks").begin_object();
  for (const Check& check : checks) {
    writer.key(check.name).begin_object().key("ok").boolean(check.ok);
    if (!check.text.empty()) writer.key("text").string(check.text);
    writer.end_object();
  }
  writer.end_object().end_object();
  return text;
}

}  // namespace rest_fcgi::metrics
