// SPDX-License-Identifier: MIT
#include "master/embedded/job_filter.h"

#include <algorithm>

#include "master/embedded/copied.h"
#include "master/embedded/jid.h"
#include "master/embedded/master_function.h"
#include "master/embedded/target_compound.h"
#include "master/embedded/timestamp.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded {

namespace {

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

std::optional<std::vector<std::string>> read_globs(JsonValue value) {
  if (!is_true(value)) return std::nullopt;
  std::vector<std::string> globs;
  if (value.is(JsonValue::Kind::array)) {
    for (const JsonValue glob : value.elements()) globs.push_back(glob.python_str());
  } else {
    const std::string text = value.python_str();
    for (const std::string_view glob : target::split_ids(text)) globs.push_back(trimmed(glob));
  }
  return globs;
}

Result<std::optional<WallTime>> read_time(std::string_view name, JsonValue value) {
  if (!is_true(value)) return std::optional<WallTime>();
  const std::optional<WallTime> time = parse_time(value.text());
  if (time) return time;
  return Error{ErrorKind::invocation,
               format("{} is {}, but must be {}", name, value.python_repr(), kTimeForms)};
}

/// Does a glob match the text, or one of the texts, that `json` holds?
bool any_matches(const std::vector<std::string>& globs, const Json& json) {
  JsonDocument document;
  if (!parse_copied(document, json.text())) return false;
  const auto matches = [&globs](JsonValue value) {
    return std::any_of(globs.begin(), globs.end(),
                       [value](const std::string& glob) { return glob_match(glob, value.text()); });
  };
  if (!document.root().is(JsonValue::Kind::array)) return matches(document.root());
  for (const JsonValue value : document.root().elements()) {
    if (matches(value)) return true;
  }
  return false;
}

bool any_member_in(JsonValue wanted, const std::optional<Json>& metadata) {
  JsonDocument document;
  if (!metadata || !parse_copied(document, metadata->text())) return false;
  for (const auto& [key, value] : wanted.members()) {
    const std::optional<JsonValue> found = document.root().find(key);
    if (found && found->json() == value.json()) return true;
  }
  return false;
}

}  // namespace

Result<JobFilter> JobFilter::make(const Arguments& arguments) {
  JobFilter filter;
  if (is_true(arguments.metadata)) filter.metadata_ = arguments.metadata;
  filter.functions_ = read_globs(arguments.function);
  filter.targets_ = read_globs(arguments.target);
  const Result<std::optional<WallTime>> start = read_time("start_time", arguments.start_time);
  if (!start) return start.error();
  filter.start_ = *start;
  const Result<std::optional<WallTime>> end = read_time("end_time", arguments.end_time);
  if (!end) return end.error();
  filter.end_ = *end;
  return filter;
}

bool JobFilter::passes(const returner::Load& load) const {
  if (metadata_ && !any_member_in(*metadata_, load.metadata)) return false;
  if (targets_ && !any_matches(*targets_, load.tgt)) return false;
  if (functions_ && !any_matches(*functions_, load.fun)) return false;
  if (!start_ && !end_) return true;
  const std::optional<WallTime> time = jid_time(load.jid);
  if (!time) return false;
  return (!start_ || *time >= *start_) && (!end_ || *time <= *end_);
}

}  // namespace rest_fcgi::embedded
