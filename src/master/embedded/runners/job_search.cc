// SPDX-License-Identifier: MIT
#include <time.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "master/embedded/runners/runners.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::seconds kSearchTime{5};
constexpr std::size_t kMaxFound = 64 << 20;  // `kMaxFound` limits the total size of the found loads in bytes.
// `kMinPage` is the least number of jobs that one read of the job cache gets.
constexpr std::size_t kMinPage = 64;
constexpr std::size_t kMaxPage = 1024;
constexpr std::size_t kMaxGlobs = 100;
// The largest size in bytes of one glob, and of one text that globs are compared with.
constexpr std::size_t kMaxText = 4096;
constexpr std::int64_t kMaxJobs = 1'000'000;
/// The values of `status` that select jobs by their state. The value true selects all jobs.
constexpr std::string_view kStates[] = {"running", "ok", "failed", "missing"};
constexpr const char* kNarrower = "narrow it with 'limit', 'after', 'before', 'start_time' or 'end_time'";

using Globs = std::vector<std::string>;

Result<std::size_t> read_count(const BoundArguments& given, std::string_view name) {
  const JsonValue value = given[name];
  const auto count = value.is(JsonValue::Kind::string) ? python_int(value.text()) : value.integer();
  if (count && *count >= 1 && *count <= kMaxJobs) return static_cast<std::size_t>(*count);
  return Error{ErrorKind::invocation, format("{}: found {}, expected a number of jobs from 1 to {}", name,
                                             value.python_repr(), kMaxJobs)};
}

/// The conditions of a search for jobs, and the deadline of the search. Null and empty arguments set no
/// condition. Borrows the arguments.
class JobFilter {
 public:
  explicit JobFilter(const Clock& clock) : clock_(clock), deadline_(clock.steady() + kSearchTime) {}

  /// Fails with `invocation` if there are too many globs or a glob is too long.
  Result<void> read_patterns(const BoundArguments& given, std::string_view metadata,
                             std::string_view function, std::string_view target,
                             std::string_view excluded = {}, std::string_view user = {}) {
    if (python_bool(given[metadata])) metadata_ = given[metadata];
    for (const auto& [name, globs] : {std::pair{function, &functions_}, std::pair{target, &targets_},
                                      std::pair{excluded, &excluded_}, std::pair{user, &users_}}) {
      if (name.empty() || !python_bool(given[name])) continue;
      *globs = texts_in(given[name]);
      const auto is_long = [](const std::string& glob) { return glob.size() > kMaxText; };
      if ((*globs)->size() > kMaxGlobs || std::any_of((*globs)->begin(), (*globs)->end(), is_long)) {
        return Error{
            ErrorKind::invocation,
            format("{}: expected at most {} patterns of at most {} bytes each", name, kMaxGlobs, kMaxText)};
      }
    }
    return {};
  }

  Result<void> read_range(const BoundArguments& given) {
    const auto wrong = [&given](std::string_view name, std::string_view expected) {
      return Error{ErrorKind::invocation,
                   format("{}: found {}, expected {}", name, given[name].python_repr(), expected)};
    };
    for (const auto& [name, time] : {std::pair{"start_time", &start_}, std::pair{"end_time", &end_}}) {
      if (!python_bool(given[name])) continue;
      *time = parse_time(given[name].text());
      if (!*time) {
        return wrong(name,
                     "a jid, 'YYYY-MM-DD' or 'YYYY, Mon DD', the latter two also with 'HH:MM', "
                     "'HH:MM:SS' or 'HH:MM:SS.ffffff'");
      }
    }
    for (const auto& [name, jid] : {std::pair{"after", &after_}, std::pair{"before", &before_}}) {
      if (!python_bool(given[name])) continue;
      *jid = given[name].python_str();
      if (!is_jid(*jid)) return wrong(name, format("a jid of {} digits", kJidDigits));
    }
    return {};
  }

  /// Sets the state that the jobs must have. Fails with `invocation` for a text that is not a state.
  Result<void> read_status(JsonValue status) {
    if (!status.is(JsonValue::Kind::string) || status.text().empty()) return {};
    state_ = status.text();
    if (std::find(std::begin(kStates), std::end(kStates), state_) != std::end(kStates)) return {};
    return Error{ErrorKind::invocation,
                 format("status: found {}, expected true, 'running', 'ok', 'failed' or 'missing'",
                        status.python_repr())};
  }

  [[nodiscard]] bool selects(std::string_view state) const { return state_.empty() || state == state_; }

  void skip_find_job() { skips_find_job_ = true; }

  /// Returns a query for the job cache. The query may find jobs that do not meet all conditions. The function
  /// `passes` rejects these jobs.
  [[nodiscard]] returner::JobQuery query() const {
    returner::JobQuery query;
    if (start_) query.first = jid_at(*start_);
    if (end_) query.last = jid_at(*end_);
    query.after = after_;
    query.before = before_;
    return query;
  }

  [[nodiscard]] bool is_late() const { return clock_.steady() >= deadline_; }

  /// Returns whether the job meets all conditions. Returns false after the deadline.
  [[nodiscard]] bool passes(const returner::Load& load) const {
    if (skips_find_job_ && load.fun.text() == "\"saltutil.find_job\"") return false;
    if (metadata_ && !has_metadata(load)) return false;
    if (targets_ && !any_matches(*targets_, load.tgt)) return false;
    if (functions_ && !any_matches(*functions_, load.fun)) return false;
    if (excluded_ && any_matches(*excluded_, load.fun)) return false;
    if (users_ && !any_matches(*users_, Json::string(load.user))) return false;
    if (!start_ && !end_) return true;
    const std::optional<WallTime> time = jid_time(load.jid);
    return time && (!start_ || *time >= *start_) && (!end_ || *time <= *end_);
  }

 private:
  [[nodiscard]] bool any_matches(const Globs& globs, const Json& json) const {
    const JsonDocument document = own_document(json);
    const auto matches = [&globs](JsonValue value) {
      if (value.text().size() > kMaxText) return false;
      return std::any_of(globs.begin(), globs.end(),
                         [value](const std::string& glob) { return glob_match(glob, value.text()); });
    };
    if (!document.root().is(JsonValue::Kind::array)) return matches(document.root());
    for (const JsonValue value : document.root().elements()) {
      if (is_late()) return false;
      if (matches(value)) return true;
    }
    return false;
  }

  /// Returns whether the job's metadata has at least one of the wanted members.
  [[nodiscard]] bool has_metadata(const returner::Load& load) const {
    if (!load.metadata) return false;
    const JsonDocument document = own_document(*load.metadata);
    for (const auto& [key, value] : metadata_->members()) {
      if (is_late()) return false;
      const std::optional<JsonValue> found = document.root().find(key);
      if (found && found->json() == value.json()) return true;
    }
    return false;
  }

  const Clock& clock_;
  const SteadyTime deadline_;
  bool skips_find_job_ = false;
  std::optional<JsonValue> metadata_;
  std::optional<Globs> functions_;
  std::optional<Globs> targets_;
  std::optional<Globs> excluded_;
  std::optional<Globs> users_;
  std::string state_;
  std::optional<WallTime> start_;
  std::optional<WallTime> end_;
  std::string after_;
  std::string before_;
};

/// How many minions a job has, and how many of them returned and failed.
struct Tally {
  std::string_view state;
  std::size_t minions = 0;
  std::size_t returned = 0;
  std::size_t failed = 0;
};

Result<Tally> tally_of(const returner::Returner& cache, const returner::Load& load,
                       const std::set<std::string>& active) {
  const auto returns = cache.get_jid(load.jid);
  if (!returns) return returns.error();
  Tally tally;
  for (const returner::JobReturn& ret : *returns) {
    if (ret.is_placeholder) continue;
    ++tally.returned;
    if (ret.retcode != 0 || !ret.success) ++tally.failed;
  }
  tally.minions = std::max(load.minions.size(), tally.returned);
  const bool is_running = active.contains(load.jid) && tally.returned < tally.minions;
  const bool is_complete = tally.returned == tally.minions;
  tally.state = is_running ? "running" : tally.failed > 0 ? "failed" : is_complete ? "ok" : "missing";
  return tally;
}

/// Says whether a job that passes the filter is wanted, too.
using Wanted = std::function<Result<bool>(const returner::Load& load)>;

/// Returns the first `count` jobs of the query that pass the filter, sorted from the oldest to the newest.
/// Reads the job cache in pages, so that other threads can use the cache, too. Fails with `timeout`, or with
/// `invocation` if the found loads are too large in total.
Result<std::vector<returner::Load>> collect(const returner::Returner& cache, const returner::JobQuery& query,
                                            std::size_t count, const JobFilter& filter,
                                            const Wanted& wanted = nullptr) {
  std::vector<returner::Load> found;
  std::size_t bytes = 0;
  std::optional<returner::JobQuery> left = query;
  while (left && found.size() < count) {
    Result<returner::LoadPage> page =
        returner::get_page(cache, *std::move(left), std::clamp(count, kMinPage, kMaxPage));
    if (!page) return std::move(page).error();
    for (returner::Load& load : page->loads) {
      const bool passes = filter.passes(load);
      if (filter.is_late())
        return Error{ErrorKind::timeout, format("The search took too long; {}", kNarrower)};
      if (!passes) continue;
      if (wanted) {
        const Result<bool> is_wanted = wanted(load);
        if (!is_wanted) return is_wanted.error();
        if (!*is_wanted) continue;
      }
      bytes += load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + load.user.size() +
               (load.metadata ? load.metadata->text().size() : 0);
      if (bytes > kMaxFound) {
        return Error{ErrorKind::invocation,
                     format("The list has more than {} MiB; {}", kMaxFound >> 20, kNarrower)};
      }
      found.push_back(std::move(load));
      if (found.size() == count) break;
    }
    left = std::move(page->rest);
  }
  if (query.newest_first) std::reverse(found.begin(), found.end());
  return found;
}

void write_tally(JsonWriter& writer, const Tally& tally) {
  writer.key("state").string(tally.state).key("minions").integer(static_cast<std::int64_t>(tally.minions));
  writer.key("returned").integer(static_cast<std::int64_t>(tally.returned));
  writer.key("failed").integer(static_cast<std::int64_t>(tally.failed)).end_object();
}

std::string outputter_in(const BoundArguments& arguments) {
  const JsonValue value = arguments["outputter"];
  return python_bool(value) ? value.python_str() : std::string();
}

}  // namespace

std::optional<WallTime> parse_time(std::string_view text) {
  if (const auto time = jid_time(text)) return time;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string whole(text.substr(0, point));
  std::string microseconds(text.substr(std::min(point + 1, text.size())));
  const bool has_seconds = std::count(whole.begin(), whole.end(), ':') == 2;
  const bool is_fraction = only_digits(microseconds) && microseconds.size() <= 6 && has_seconds;
  if (point != text.size() && !is_fraction) return std::nullopt;
  microseconds.resize(6, '0');
  for (const char* day : {"%Y-%m-%d", "%Y, %b %d"}) {
    for (const char* time_of_day : {"", "T%H:%M", " %H:%M", "T%H:%M:%S", " %H:%M:%S"}) {
      std::tm time{};
      const char* end = ::strptime(whole.c_str(), (std::string(day) + time_of_day).c_str(), &time);
      if (end == nullptr || *end != '\0' || time.tm_year < 1000 - 1900) continue;
      return jid_time(format("{:04}{:02}{:02}{:02}{:02}{:02}{}", time.tm_year + 1900, time.tm_mon + 1,
                             time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, microseconds));
    }
  }
  return std::nullopt;
}

Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments) {
  JobFilter filter(context.jobs.clock());
  const auto source = find_source(context.jobs, arguments);
  if (!source) return source.error();
  Result<void> read = filter.read_patterns(arguments, "search_metadata", "search_function", "search_target",
                                           "exclude_function", "search_user");
  if (read) read = filter.read_range(arguments);
  if (read) read = filter.read_status(arguments["status"]);
  if (!read) return std::move(read).error();
  returner::JobQuery query = filter.query();
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  if (!arguments["limit"].is(JsonValue::Kind::null)) {
    const Result<std::size_t> count = read_count(arguments, "limit");
    if (!count) return count.error();
    limit = *count;
    query.newest_first = !python_bool(arguments["after"]);
  }
  std::map<std::string, Tally> tallies;
  Wanted wanted;
  std::set<std::string> active;
  if (python_bool(arguments["status"])) {
    for (const ActiveJob& job : context.jobs.active()) active.insert(job.load.jid);
    wanted = [&](const returner::Load& load) -> Result<bool> {
      const Result<Tally> tally = tally_of(**source, load, active);
      if (!tally) return tally.error();
      if (!filter.selects(tally->state)) return false;
      tallies.emplace(load.jid, *tally);
      return true;
    };
  }
  const auto jobs = collect(**source, query, limit, filter, wanted);
  if (!jobs) return jobs.error();
  return with_outputter(outputter_in(arguments), written_object([&](JsonWriter& writer) {
                          for (const returner::Load& load : *jobs) {
                            write_description(writer.key(load.jid).begin_object(), load);
                            write_start_time(writer, load.jid);
                            if (const auto found = tallies.find(load.jid); found != tallies.end()) {
                              write_tally(writer.key("Status").begin_object(), found->second);
                            }
                            writer.end_object();
                          }
                        }));
}

Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments) {
  JobFilter filter(context.jobs.clock());
  const Result<std::size_t> count = read_count(arguments, "count");
  if (!count) return count.error();
  const auto source = find_source(context.jobs, arguments);
  if (!source) return source.error();
  const JsonValue filter_find_job = arguments["filter_find_job"];
  if (filter_find_job.is(JsonValue::Kind::null) || python_bool(filter_find_job)) filter.skip_find_job();
  const auto jobs = collect(**source, {.newest_first = true}, *count, filter);
  if (!jobs) return jobs.error();
  return with_outputter(outputter_in(arguments), written_array([&jobs](JsonWriter& writer) {
                          for (const returner::Load& load : *jobs) {
                            write_description(writer.begin_object(), load);
                            write_start_time(writer.key("JID").string(load.jid), load.jid);
                            writer.end_object();
                          }
                        }));
}

Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments) {
  JobFilter filter(context.jobs.clock());
  const auto source = find_source(context.jobs, arguments);
  if (!source) return source.error();
  const JsonValue metadata = arguments["metadata"];
  if (python_bool(metadata) && !metadata.is(JsonValue::Kind::object)) return Json::boolean(false);
  const Result<void> read = filter.read_patterns(arguments, "metadata", "function", "target");
  if (!read) return read.error();
  returner::JobQuery query = filter.query();
  query.newest_first = true;
  const auto jobs = collect(**source, query, 1, filter);
  if (!jobs) return jobs.error();
  if (jobs->empty()) return Json::boolean(false);
  const returner::Load& load = jobs->front();
  const auto returns = (*source)->get_jid(load.jid);
  if (!returns) return returns.error();
  return printed_job(load.jid, StoredJob{load, *returns});
}

}  // namespace rest_fcgi::embedded
