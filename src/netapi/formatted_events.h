// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::netapi {

/// In which form a view is shown, and what else Salt's two modules do differently.
struct FormattedStyle {
  bool minions_are_listed;      ///< `[{"id": M, ...}]`; else `{M: {"id": M, ...}}`
  bool hears_presence_changes;  ///< `salt/presence/change`, beside `present`
  std::string_view end;         ///< of a frame
};

/// What one view may keep.
struct FormattedLimits {
  std::size_t max_jobs = 1000;
  std::size_t max_job_bytes = std::size_t{512} << 10;  ///< of all jobs together
  std::size_t max_minions = 50'000;
  std::size_t max_grain_bytes = std::size_t{8} << 20;  ///< of all minions together
  std::chrono::minutes keep_finished{10};
};

/// Salt's "formatted" view of its events, made for one listener: which minions there are, and which jobs with
/// what they returned. What changes it gives a frame with all minions or all jobs. Finished jobs leave after
/// a while, and beyond the limits the oldest leave first, those that are complete before others; what is
/// returned beyond them within one job is shown as null. Not synchronized.
class FormattedEvents {
 public:
  FormattedEvents(const FormattedStyle& style, const Clock& clock, FormattedLimits limits = {})
      : style_(style), clock_(clock), limits_(limits) {}

  /// An event changes nothing where it does not fit together. `data` is JSON.
  void hear(std::string_view tag, std::string_view data);

  /// The minions that there are, as an object with the grains of each.
  void start(JsonValue grains);

  /// What the master knows of a job whose start was not heard, as its runner `jobs.list_job` says it.
  void complete(const std::string& jid, JsonValue listed);

  /// The jobs, where they have changed since this was called last, and so the minions.
  [[nodiscard]] std::vector<std::string> take_frames();

  /// Minions that have come and whose grains are not known yet. Each is named once.
  [[nodiscard]] std::vector<std::string> take_new_minions();
  /// Jobs that returned and whose start was not heard. Each is named once.
  [[nodiscard]] std::vector<std::string> take_unknown_jobs();

 private:
  struct Job {
    std::string jid;
    std::string start_time{"null"}, fun{"null"}, tgt{"null"}, tgt_type{"null"};  ///< JSON
    std::map<std::string, std::string, std::less<>> minions{};  ///< JSON; empty: did not answer yet
    std::size_t bytes = 0;
    std::optional<SteadyTime> finished{};
  };

  void start_job(const std::string& jid, JsonValue data);
  void finish_part(const std::string& jid, const std::string& minion, JsonValue data);
  void key_event(JsonValue data);
  void minion_start(const std::string& id);
  void presence(std::string_view what, JsonValue data);
  Job* find_job(std::string_view jid);
  Job& job_of(const std::string& jid);
  void settle(Job& job);
  void set_answer(Job& job, std::string_view minion, JsonValue answer);
  void forget_jobs();
  [[nodiscard]] bool add_minion(std::string_view id);
  [[nodiscard]] bool drop_minion(std::string_view id);
  void set_grains(const std::string& id, JsonValue grains);
  [[nodiscard]] std::string jobs_frame() const;
  [[nodiscard]] std::string minions_frame() const;

  const FormattedStyle style_;
  const Clock& clock_;
  const FormattedLimits limits_;
  std::list<Job> jobs_;  ///< the oldest first
  std::size_t job_bytes_ = 0;
  std::map<std::string, std::string, std::less<>> minions_;  ///< grains as JSON; empty: not known
  std::size_t grain_bytes_ = 0;
  std::vector<std::string> new_minions_;
  std::vector<std::string> unknown_jobs_;
  bool jobs_changed_ = false;
  bool minions_changed_ = false;
  JsonDocument document_;
};

}  // namespace rest_fcgi::netapi
