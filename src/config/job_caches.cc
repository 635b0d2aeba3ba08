// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

constexpr std::chrono::milliseconds kTenthOfASecond{100};
constexpr std::chrono::seconds kHour{3600};
constexpr std::int64_t kTenYearsInHours = 87600;
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kSqlite = "sqlite3";
constexpr std::string_view kEtcd = "etcd";
constexpr std::string_view kNames = "local_cache, sqlite3, etcd or memory";

/// The job cache of that name; empty where there is none. `local_cache` is what Salt uses unless told
/// otherwise, and so it stands for what is used here then.
std::string_view job_cache(std::string_view name) {
  if (name == kMemory) return kMemory;
  if (name == kEtcd) return kEtcd;
  if (name == kSqlite || name == "sqlite" || name == "local_cache") return kSqlite;
  return {};
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view part = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
  }
  return parts;
}

/// Returns whether somebody chose SQLite.
bool read_names(Reader& top, returner::Options& options) {
  bool chosen = false;
  std::string master = "local_cache";
  top.text("master_job_cache", master);
  options.master_job_cache = job_cache(master);
  if (options.master_job_cache.empty()) {
    top.unexpected(*top.value("master_job_cache"), "master_job_cache", kNames);
  } else {
    chosen = options.master_job_cache == kSqlite && master != "local_cache";
  }
  std::string others;
  top.text("ext_job_cache", others);
  for (const std::string& name : parts_of(others)) {
    const std::string cache(job_cache(name));
    if (cache.empty()) {
      top.unexpected(*top.value("ext_job_cache"), "ext_job_cache",
                     "names of job caches, separated by commas: sqlite3, etcd or memory");
    } else if (cache != options.master_job_cache) {  // which gets everything already
      options.ext_job_cache.push_back(cache);
      chosen = chosen || cache == kSqlite;
    }
  }
  return chosen;
}

/// As in Salt: hours count where nobody said seconds.
void read_age(Reader& top, returner::Options& options, std::vector<std::string>& warnings) {
  top.whole_seconds("keep_jobs_seconds", options.keep_jobs_seconds, {0, kTenYearsInHours * kHour.count()});
  std::size_t hours = 24;
  top.count("keep_jobs", hours, {0, kTenYearsInHours});
  const returner::Options defaults;
  if (hours == 24 || options.keep_jobs_seconds != defaults.keep_jobs_seconds) return;
  options.keep_jobs_seconds = kHour * hours;
  warnings.push_back(mistake_at(top.value("keep_jobs")->place,
                                "keep_jobs: is Salt's old name; keep_jobs_seconds is the new one, in seconds")
                         .message);
}

/// Where it is a job cache, or may be named in a call: elsewhere in Salt, too, `etcd.*` keys mean something.
void read_etcd(Reader& top, const std::string& spool, Settings& settings) {
  const std::vector<std::string>& others = settings.returner.ext_job_cache;
  if (settings.returner.master_job_cache == kEtcd ||
      std::find(others.begin(), others.end(), kEtcd) != others.end() || is_etcd_returner_chosen(top)) {
    read_etcd_returner(top, spool, settings.returner.etcd, settings.warnings);
  }
}

}  // namespace

void read_job_caches(Reader& top, const std::string& default_database, Settings& settings) {
  returner::Options& options = settings.returner;
  bool chosen = read_names(top, options);
  chosen = top.value("sqlite3.database") != nullptr || chosen;
  options.sqlite3.database = default_database;
  top.absolute_path("sqlite3.database", options.sqlite3.database);
  options.sqlite3.is_default = !chosen;
  top.seconds("sqlite3.timeout", options.sqlite3.timeout, kTenthOfASecond, kHour);
  read_etcd(top, std::filesystem::path(default_database).replace_filename("etcd").string(), settings);
  read_age(top, options, settings.warnings);
}

}  // namespace rest_fcgi::config
