// SPDX-License-Identifier: MIT
#include <time.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <utility>

#include "master/embedded/python/python.h"
#include "master/embedded/runners/runners.h"
#include "master/embedded/target/target.h"
#include "master/embedded/text.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/lowstate/jid.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMaxFound = 64 << 20;  // bytes of the loads that one call lists
constexpr std::size_t kLeastPage = 64;       // jobs that are read at a time
constexpr std::size_t kLargestPage = 1024;
constexpr std::size_t kMaxGlobs = 100;
constexpr std::size_t kMaxText = 4096;  // bytes of a glob, and of what it is compared with
constexpr std::int64_t kMostJobs = 1'000'000;

using Globs = std::vector<std::string>;

Result<std::optional<Globs>> read_globs(std::string_view name, JsonValue value) {
  if (!python_bool(value)) return std::optional<Globs>();
  Globs globs = texts_in(value);
  const bool bounded = globs.size() <= kMaxGlobs &&
                       std::all_of(globs.begin(), globs.end(),
                                   [](const std::string& glob) { return glob.size() <= kMaxText; });
  if (bounded) return std::optional(std::move(globs));
  return Error{ErrorKind::invocation,
               format("{} may hold {} patterns of {} bytes at most", name, kMaxGlobs, kMaxText)};
}

Result<std::optional<WallTime>> read_time(std::string_view name, JsonValue value) {
  if (!python_bool(value)) return std::optional<WallTime>();
  const std::optional<WallTime> time = parse_time(value.text());
  if (time) return time;
  return Error{ErrorKind::invocation,
               format("{} is {}, but must be {}", name, value.python_repr(), kTimeForms)};
}

Result<std::string> read_jid(std::string_view name, JsonValue value) {
  if (!python_bool(value)) return std::string();
  std::string jid = value.python_str();
  if (lowstate::is_jid(jid)) return jid;
  return Error{ErrorKind::invocation, format("{} is {}, but must be a jid of {} digits", name,
                                             value.python_repr(), lowstate::kJidDigits)};
}

/// A number of jobs from 1 on.
Result<std::size_t> read_count(std::string_view name, JsonValue value) {
  const auto count = value.is(JsonValue::Kind::string) ? python_int(value.text()) : value.integer();
  if (count && *count >= 1 && *count <= kMostJobs) return static_cast<std::size_t>(*count);
  return Error{ErrorKind::invocation, format("{} must be a number of jobs from 1 to {}, found {}", name,
                                             kMostJobs, value.python_repr())};
}

/// When a search has to have ended.
class Deadline {
 public:
  explicit Deadline(const Clock& clock) : clock_(clock), end_(clock.steady() + kPatience) {}
  [[nodiscard]] bool has_passed() const { return clock_.steady() >= end_; }

 private:
  const Clock& clock_;
  const SteadyTime end_;
};

/// Does a glob match the text, or one of the texts, that `json` holds?
bool any_glob_matches(const Globs& globs, const Json& json, const Deadline& deadline) {
  const JsonDocument document = own_document(json);
  const auto matches = [&globs](JsonValue value) {
    if (value.text().size() > kMaxText) return false;
    return std::any_of(globs.begin(), globs.end(),
                       [value](const std::string& glob) { return glob_match(glob, value.text()); });
  };
  if (!document.root().is(JsonValue::Kind::array)) return matches(document.root());
  for (const JsonValue value : document.root().elements()) {
    if (deadline.has_passed()) return false;
    if (matches(value)) return true;
  }
  return false;
}

bool any_member_in(JsonValue wanted, const std::optional<Json>& metadata, const Deadline& deadline) {
  if (!metadata) return false;
  const JsonDocument document = own_document(*metadata);
  for (const auto& [key, value] : wanted.members()) {
    if (deadline.has_passed()) return false;
    const std::optional<JsonValue> found = document.root().find(key);
    if (found && found->json() == value.json()) return true;
  }
  return false;
}

/// Which jobs are listed: those that pass all that was asked for. Borrows the arguments.
class JobFilter {
 public:
  /// Takes the arguments of these names; what is null or empty asks for nothing. Errors: invocation, for a
  /// time or jid that is none, and for too many patterns.
  Result<void> read_patterns(const BoundArguments& given, std::string_view metadata, std::string_view function,
                             std::string_view target) {
    if (python_bool(given[metadata])) metadata_ = given[metadata];
    auto functions = read_globs(function, given[function]);
    if (!functions) return std::move(functions).error();
    functions_ = *std::move(functions);
    auto targets = read_globs(target, given[target]);
    if (!targets) return std::move(targets).error();
    targets_ = *std::move(targets);
    return {};
  }

  Result<void> read_range(const BoundArguments& given) {
    for (const auto& [name, time] : {std::pair{"start_time", &start_}, std::pair{"end_time", &end_}}) {
      const auto read = read_time(name, given[name]);
      if (!read) return read.error();
      *time = *read;
    }
    for (const auto& [name, jid] : {std::pair{"after", &after_}, std::pair{"before", &before_}}) {
      auto read = read_jid(name, given[name]);
      if (!read) return std::move(read).error();
      *jid = *std::move(read);
    }
    return {};
  }

  /// Where in the job cache to look: as narrow as the arguments allow. All that pass lie there, and others.
  /// A function's name without wildcards means jobs of this function alone, not those of several functions.
  [[nodiscard]] returner::JobQuery query() const {
    returner::JobQuery query;
    if (start_) query.first = master::jid_at(*start_);
    if (end_) query.last = master::jid_at(*end_);
    query.after = after_;
    query.before = before_;
    const bool one = functions_ && functions_->size() == 1;
    if (one && functions_->front().find_first_of("*?[") == std::string::npos) query.fun = functions_->front();
    return query;
  }

  /// Nothing passes any more once the deadline has passed.
  [[nodiscard]] bool passes(const returner::Load& load, const Deadline& deadline) const {
    if (metadata_ && !any_member_in(*metadata_, load.metadata, deadline)) return false;
    if (targets_ && !any_glob_matches(*targets_, load.tgt, deadline)) return false;
    if (functions_ && !any_glob_matches(*functions_, load.fun, deadline)) return false;
    if (!start_ && !end_) return true;
    const std::optional<WallTime> time = master::jid_time(load.jid);
    if (!time) return false;
    return (!start_ || *time >= *start_) && (!end_ || *time <= *end_);
  }

 private:
  std::optional<JsonValue> metadata_;  ///< an object: one of its members is among the job's metadata
  std::optional<Globs> functions_;     ///< one matches a function of the job
  std::optional<Globs> targets_;       ///< one matches the job's target
  std::optional<WallTime> start_;
  std::optional<WallTime> end_;
  std::string after_;   // a jid, or empty
  std::string before_;  // a jid, or empty
};

/// As it is listed, but for what all entries have in common.
std::size_t listed_size(const returner::Load& load) {
  return load.fun.text().size() + load.arg.text().size() + load.tgt.text().size() + load.user.size() +
         (load.metadata ? load.metadata->text().size() : 0);
}

/// The first `count` jobs on the way of the query that pass, oldest first. Reads page by page, so that a long
/// search holds nothing of the job cache, and ends with its result: at the last job that is wanted, at the
/// deadline, and where there would be too much to list.
template <class Passes>
Result<std::vector<returner::Load>> collect(const returner::Returner& cache, const returner::JobQuery& query,
                                            std::size_t count, const Deadline& deadline,
                                            const Passes& passes) {
  constexpr const char* kNarrower = "'limit', 'after', 'before', 'start_time' and 'end_time' narrow it";
  std::vector<returner::Load> found;
  std::size_t bytes = 0;
  std::optional<returner::JobQuery> left = query;
  while (left && found.size() < count) {
    Result<returner::LoadPage> page =
        returner::get_page(cache, *std::move(left), std::clamp(count, kLeastPage, kLargestPage));
    if (!page) return std::move(page).error();
    for (returner::Load& load : page->loads) {
      const bool fits = passes(load);
      if (deadline.has_passed())
        return Error{ErrorKind::timeout, format("The search took too long; {}", kNarrower)};
      if (!fits) continue;
      bytes += listed_size(load);
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

std::string outputter_named(JsonValue value) {
  return python_bool(value) ? value.python_str() : std::string();
}

}  // namespace

std::optional<WallTime> parse_time(std::string_view text) {
  if (const auto time = master::jid_time(text)) return time;
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string whole(text.substr(0, point));
  std::string microseconds(text.substr(std::min(point + 1, text.size())));
  const bool has_seconds = std::count(whole.begin(), whole.end(), ':') == 2;
  const bool is_fraction = microseconds.find_first_not_of("0123456789") == std::string::npos &&
                           microseconds.size() <= 6 && !microseconds.empty() && has_seconds;
  if (point != text.size() && !is_fraction) return std::nullopt;
  microseconds.resize(6, '0');
  for (const char* day : {"%Y-%m-%d", "%Y, %b %d"}) {
    for (const char* time_of_day : {"", "T%H:%M", " %H:%M", "T%H:%M:%S", " %H:%M:%S"}) {
      std::tm time{};
      const char* end = ::strptime(whole.c_str(), (std::string(day) + time_of_day).c_str(), &time);
      if (end == nullptr || *end != '\0' || time.tm_year < 1000 - 1900) continue;
      return master::jid_time(format("{:04}{:02}{:02}{:02}{:02}{:02}{}", time.tm_year + 1900, time.tm_mon + 1,
                                     time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, microseconds));
    }
  }
  return std::nullopt;
}

Result<Json> list_jobs(const MasterContext& context, const BoundArguments& arguments) {
  const Deadline deadline(context.jobs.clock());
  const Result<const returner::Returner*> source = source_named(context.jobs, arguments["ext_source"]);
  if (!source) return source.error();
  JobFilter filter;
  Result<void> read = filter.read_patterns(arguments, "search_metadata", "search_function", "search_target");
  if (read) read = filter.read_range(arguments);
  if (!read) return std::move(read).error();
  returner::JobQuery query = filter.query();
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  if (!arguments["limit"].is(JsonValue::Kind::null)) {
    const Result<std::size_t> count = read_count("limit", arguments["limit"]);
    if (!count) return count.error();
    limit = *count;
    query.newest_first = !python_bool(arguments["after"]);
  }
  const auto jobs = collect(**source, query, limit, deadline,
                            [&](const returner::Load& load) { return filter.passes(load, deadline); });
  if (!jobs) return jobs.error();
  return with_outputter(outputter_named(arguments["outputter"]), written_object([&jobs](JsonWriter& writer) {
                          for (const returner::Load& load : *jobs) {
                            write_description(writer.key(load.jid).begin_object(), load);
                            write_start_time(writer, load.jid);
                            writer.end_object();
                          }
                        }));
}

Result<Json> list_jobs_filter(const MasterContext& context, const BoundArguments& arguments) {
  const Deadline deadline(context.jobs.clock());
  const Result<std::size_t> count = read_count("count", arguments["count"]);
  if (!count) return count.error();
  const Result<const returner::Returner*> source = source_named(context.jobs, arguments["ext_source"]);
  if (!source) return source.error();
  const JsonValue filter_find_job = arguments["filter_find_job"];
  const bool all = !filter_find_job.is(JsonValue::Kind::null) && !python_bool(filter_find_job);
  const auto jobs = collect(
      **source, {.newest_first = true}, *count, deadline,
      [all](const returner::Load& load) { return all || load.fun.text() != "\"saltutil.find_job\""; });
  if (!jobs) return jobs.error();
  return with_outputter(outputter_named(arguments["outputter"]), written_array([&jobs](JsonWriter& writer) {
                          for (const returner::Load& load : *jobs) {
                            write_description(writer.begin_object(), load);
                            write_start_time(writer.key("JID").string(load.jid), load.jid);
                            writer.end_object();
                          }
                        }));
}

Result<Json> last_run(const MasterContext& context, const BoundArguments& arguments) {
  const Deadline deadline(context.jobs.clock());
  const Result<const returner::Returner*> source = source_named(context.jobs, arguments["ext_source"]);
  if (!source) return source.error();
  const JsonValue metadata = arguments["metadata"];
  if (python_bool(metadata) && !metadata.is(JsonValue::Kind::object)) return Json::boolean(false);
  JobFilter filter;
  const Result<void> read = filter.read_patterns(arguments, "metadata", "function", "target");
  if (!read) return read.error();
  returner::JobQuery query = filter.query();
  query.newest_first = true;
  const auto jobs = collect(**source, query, 1, deadline,
                            [&](const returner::Load& load) { return filter.passes(load, deadline); });
  if (!jobs) return jobs.error();
  if (jobs->empty()) return Json::boolean(false);
  const returner::Load& load = jobs->front();
  const Result<std::vector<returner::JobReturn>> returns = (*source)->get_jid(load.jid);
  if (!returns) return returns.error();
  return printed(load.jid, StoredJob{load, *returns});
}

}  // namespace rest_fcgi::embedded
