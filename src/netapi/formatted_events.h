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

/// The differences between the views of rest_cherrypy and rest_tornado.
struct FormattedStyle {
  bool minions_are_listed;      ///< `[{"id": M, ...}]`; otherwise `{M: {"id": M, ...}}`
  bool hears_presence_changes;  ///< `salt/presence/change` changes the view, as `present` does
  std::string_view end;         ///< text at the end of a frame
};

/// Limits of one view.
struct FormattedLimits {
  std::size_t max_jobs = 1000;
  std::size_t max_job_bytes = std::size_t{512} << 10;  ///< of all jobs together
  std::size_t max_minions = 50'000;
  std::size_t max_grain_bytes = std::size_t{8} << 20;  ///< of all minions together
  std::chrono::minutes keep_finished{10};
};

/// Salt's "formatted" view of events, for one listener: all minions, and all jobs with their returns. Each
/// change makes a frame with all minions or all jobs. Finished jobs are removed after `keep_finished`; beyond
/// the limits the oldest jobs are removed, finished ones first. A return that is too large for its job is
/// shown as null. Not synchronized.
class FormattedEvents {
 public:
  FormattedEvents(const FormattedStyle& style, const Clock& clock, FormattedLimits limits = {})
      : style_(style), clock_(clock), limits_(limits) {}

  /// Changes the view according to an event. `data` is JSON. Malformed events are ignored.
  void apply(std::string_view tag, std::string_view data);

  /// Sets the minions, from an object with the grains of each.
  void start(JsonValue grains);

  /// Adds what the master's runner `jobs.list_job` returned about a job whose start was not seen.
  void fill_in_job(const std::string& jid, JsonValue listed);

  /// Returns frames with the jobs and with the minions, if these changed since the last call.
  [[nodiscard]] std::vector<std::string> take_frames();

  /// Returns new minions whose grains are unknown, each once.
  [[nodiscard]] std::vector<std::string> take_new_minions();
  /// Returns jobs that returned and whose start was not seen, each once.
  [[nodiscard]] std::vector<std::string> take_unknown_jobs();

 private:
  struct Job {
    std::string jid;
    std::string start_time{"null"}, fun{"null"}, tgt{"null"}, tgt_type{"null"};  ///< JSON
    std::map<std::string, std::string, std::less<>> minions{};  ///< return as JSON; empty: not yet returned
    std::size_t bytes = 0;
    std::optional<SteadyTime> finished{};
  };

  void start_job(const std::string& jid, JsonValue data);
  void add_return(const std::string& jid, const std::string& minion, JsonValue data);
  void key_event(JsonValue data);
  void minion_start(const std::string& id);
  void presence(std::string_view what, JsonValue data);
  Job* find_job(std::string_view jid);
  Job& job_of(const std::string& jid);
  void update_totals(Job& job);
  void set_answer(Job& job, std::string_view minion, JsonValue answer);
  void drop_old_jobs();
  [[nodiscard]] bool add_minion(std::string_view id);
  [[nodiscard]] bool drop_minion(std::string_view id);
  void set_grains(const std::string& id, JsonValue grains);
  [[nodiscard]] std::string jobs_frame() const;
  [[nodiscard]] std::string minions_frame() const;

  const FormattedStyle style_;
  const Clock& clock_;
  const FormattedLimits limits_;
  std::list<Job> jobs_;  ///< oldest first
  std::size_t job_bytes_ = 0;
  std::map<std::string, std::string, std::less<>> minions_;  ///< grains as JSON; empty: unknown
  std::size_t grain_bytes_ = 0;
  std::vector<std::string> new_minions_;
  std::vector<std::string> unknown_jobs_;
  bool jobs_changed_ = false;
  bool minions_changed_ = false;
  JsonDocument document_;
};

}  // namespace rest_fcgi::netapi
