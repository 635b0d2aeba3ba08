// SPDX-License-Identifier: MIT
#include "master/embedded/runners/job_filter.h"

#include <algorithm>

#include "master/embedded/jobs/timestamp.h"
#include "master/embedded/python/copied.h"
#include "master/embedded/python/python.h"
#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/lowstate/jid.h"
#include "rest_fcgi/master/jid.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::size_t kMaxGlobs = 100;
constexpr std::size_t kMaxText = 4096;  // bytes of a glob, and of what it is compared with

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

Result<std::optional<std::vector<std::string>>> read_globs(std::string_view name, JsonValue value) {
  if (!python_bool(value)) return std::optional<std::vector<std::string>>();
  std::vector<std::string> globs;
  if (value.is(JsonValue::Kind::array)) {
    for (const JsonValue glob : value.elements()) globs.push_back(glob.python_str());
  } else {
    const std::string text = value.python_str();
    for (const std::string_view glob : target::split_ids(text)) globs.push_back(trimmed(glob));
  }
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

/// Does a glob match the text, or one of the texts, that `json` holds?
template <class IsLate>
bool any_matches(const std::vector<std::string>& globs, const Json& json, const IsLate& is_late) {
  JsonDocument document;
  if (!parse_copied(document, json.text())) return false;
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

template <class IsLate>
bool any_member_in(JsonValue wanted, const std::optional<Json>& metadata, const IsLate& is_late) {
  JsonDocument document;
  if (!metadata || !parse_copied(document, metadata->text())) return false;
  for (const auto& [key, value] : wanted.members()) {
    if (is_late()) return false;
    const std::optional<JsonValue> found = document.root().find(key);
    if (found && found->json() == value.json()) return true;
  }
  return false;
}

}  // namespace

Result<JobFilter> JobFilter::make(const Arguments& arguments) {
  JobFilter filter;
  filter.deadline_ = system_clock().steady() + kPatience;
  if (python_bool(arguments.metadata)) filter.metadata_ = arguments.metadata;
  auto functions = read_globs("search_function", arguments.function);
  if (!functions) return std::move(functions).error();
  filter.functions_ = *std::move(functions);
  auto targets = read_globs("search_target", arguments.target);
  if (!targets) return std::move(targets).error();
  filter.targets_ = *std::move(targets);
  const Result<std::optional<WallTime>> start = read_time("start_time", arguments.start_time);
  if (!start) return start.error();
  filter.start_ = *start;
  const Result<std::optional<WallTime>> end = read_time("end_time", arguments.end_time);
  if (!end) return end.error();
  filter.end_ = *end;
  Result<std::string> after = read_jid("after", arguments.after);
  if (!after) return std::move(after).error();
  filter.after_ = *std::move(after);
  Result<std::string> before = read_jid("before", arguments.before);
  if (!before) return std::move(before).error();
  filter.before_ = *std::move(before);
  return filter;
}

returner::JobQuery JobFilter::query() const {
  returner::JobQuery query;
  if (start_) query.first = master::jid_at(*start_);
  query.first = std::max(query.first, after_);
  if (end_) query.last = master::jid_at(*end_);
  if (!before_.empty()) query.last = query.last.empty() ? before_ : std::min(query.last, before_);
  const bool one = functions_ && functions_->size() == 1;
  if (one && functions_->front().find_first_of("*?[") == std::string::npos) query.fun = functions_->front();
  return query;
}

bool JobFilter::passes(const returner::Load& load) const {
  const auto late = [this] { return is_late(); };
  if (load.jid == after_ || load.jid == before_) return false;  // a query's ends belong to it
  if (metadata_ && !any_member_in(*metadata_, load.metadata, late)) return false;
  if (targets_ && !any_matches(*targets_, load.tgt, late)) return false;
  if (functions_ && !any_matches(*functions_, load.fun, late)) return false;
  if (!start_ && !end_) return true;
  const std::optional<WallTime> time = master::jid_time(load.jid);
  if (!time) return false;
  return (!start_ || *time >= *start_) && (!end_ || *time <= *end_);
}

}  // namespace rest_fcgi::embedded
