// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/sqlite/store.h"

namespace rest_fcgi::returner {

using Jids = std::vector<std::string>;

/// A jid of the manual clock's first second; the greater `number`, the later.
inline std::string jid_number(int number) {
  std::string digits = std::to_string(number);
  return "20231114221320" + std::string(6 - digits.size(), '0') + digits;
}

inline Load load_of(const std::string& jid, std::string_view fun = "test.ping") {
  return {jid, Json::string(fun), Json::trusted("[]"), Json::string("*"), "glob", "fred", {}, {"ms-0"}};
}

inline JobReturn return_of(const std::string& minion, std::string_view text) {
  return {minion, Json::string(text), 0, true, ""};
}

inline Jids jids_of(const Returner& cache, const JobQuery& query = {}) {
  Jids jids;
  const Result<void> walked = cache.get_jids(query, [&](const Load& load) {
    jids.push_back(load.jid);
    return true;
  });
  REQUIRE_MESSAGE(walked.ok(), walked.error().message);
  return jids;
}

/// Options of a database in a folder of its own.
inline Options sqlite_options(const test::TempDir& dir) {
  Options options;
  options.master_job_cache = "sqlite3";
  options.sqlite3.database = dir / "jobs/jobs.db";
  options.sqlite3.timeout = std::chrono::milliseconds(200);
  options.spool_bytes = 256 * 1024;
  return options;
}

inline std::unique_ptr<Returner> open_sqlite(const Options& options, const Clock& clock) {
  auto opened = open_sqlite_returner(options, clock);
  REQUIRE_MESSAGE(opened.ok(), opened.error().message);
  return *std::move(opened);
}

}  // namespace rest_fcgi::returner
