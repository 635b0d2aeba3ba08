// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../support/manual_clock.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/store_returner.h"

namespace rest_fcgi::returner {

using Jids = std::vector<std::string>;

/// A greater number gives a later jid. All jids are in the first second of the manual clock.
inline std::string jid_number(int number) {
  std::string digits = std::to_string(number);
  return "20231114221320" + std::string(6 - digits.size(), '0') + digits;
}

/// This jid is later than all jids of `jid_number`.
inline const std::string kJid = "20261120231500123456";

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

inline std::shared_ptr<store::Store> open_store(const std::string& path = {}) {
  auto opened = store::Store::open({.path = path});
  REQUIRE_MESSAGE(opened.ok(), opened.error().message);
  return *std::move(opened);
}

}  // namespace rest_fcgi::returner
