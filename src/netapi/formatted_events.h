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

/// The differences between the formatted views of rest_cherrypy and rest_tornado.
struct FormattedStyle {
  /// Whether the minions are a list `[{"id": M, ...}]` and not an object `{M: {"id": M, ...}}`.
  bool minions_are_listed;
  bool hears_presence_changes;  ///< With `hears_presence_changes`, `salt/presence/change` changes the view.
  std::string_view end;         ///< `end` is the text at the end of a frame.
};

struct FormattedLimits {
  std::size_t max_jobs = 1000;
  std::size_t max_job_bytes = std::size_t{512} << 10;  ///< The largest size of all jobs together in bytes.
  std::size_t max_minions = 50'000;
  std::size_t max_grain_bytes = std::size_t{8} << 20;  ///< The largest size of all grains together in bytes.
  std::chrono::minutes keep_finished{10};
};

/// Salt's formatted view of events for one listener, with all minions and jobs. After a change, the listener
/// gets a frame: a message with all minions or all jobs. Removes jobs that finished more than `keep_finished`
/// ago. While the jobs exceed a limit, removes the oldest finished jobs and then the oldest running jobs.
/// Used by one thread.
class FormattedEvents {
 public:
  FormattedEvents(const FormattedStyle& style, const Clock& clock, FormattedLimits limits = {})
      : style_(style), clock_(clock), limits_(limits) {}

  /// Applies an event to the view. `data` is JSON. Ignores malformed events.
  void apply(std::string_view tag, std::string_view data);

  /// Sets the minions of the view. `grains` is an object from minion id to grains.
  void start(JsonValue grains);

  /// Adds details that the runner `jobs.list_job` returned for a job whose start event was missed.
  void fill_in_job(const std::string& jid, JsonValue listed);

  /// Returns a frame with all jobs if a job changed since the last call, and a frame with all minions if a
  /// minion changed.
  [[nodiscard]] std::vector<std::string> take_frames();

  /// Returns the new minions whose grains are not known yet. Returns each minion only once.
  [[nodiscard]] std::vector<std::string> take_new_minions();
  /// Returns the jobs whose start event the view has missed. Returns each job only once.
  [[nodiscard]] std::vector<std::string> take_unknown_jobs();

 private:
  struct Job {
    std::string jid;
    std::string start_time{"null"}, fun{"null"}, tgt{"null"}, tgt_type{"null"};  ///< JSON values.
    std::map<std::string, std::string, std::less<>>
        minions{};  ///< Maps minion ids to returns in JSON. The text is empty until the minion returns.
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
  std::list<Job> jobs_;  ///< The oldest job is first.
  std::size_t job_bytes_ = 0;
  std::map<std::string, std::string, std::less<>>
      minions_;  ///< Maps minion ids to grains in JSON. Empty for unknown grains.
  std::size_t grain_bytes_ = 0;
  std::vector<std::string> new_minions_;
  std::vector<std::string> unknown_jobs_;
  bool jobs_changed_ = false;
  bool minions_changed_ = false;
  JsonDocument document_;
};

}  // namespace rest_fcgi::netapi
