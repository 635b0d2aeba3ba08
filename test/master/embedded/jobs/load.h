// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "master/embedded/jobs/running_table.h"
#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::test {

inline constexpr const char* kJid = "20261120230610043746";

inline returner::Load load_of(std::string jid, std::vector<std::string> minions = {"ms-0", "ms-1"}) {
  returner::Load load;
  load.jid = std::move(jid);
  load.fun = Json::string("test.sleep");
  load.arg = Json::trusted("[600]");
  load.tgt = Json::string("*");
  load.tgt_type = "glob";
  load.user = "fred";
  load.metadata = Json::trusted(R"({"a": 1})");
  load.minions = std::move(minions);
  return load;
}

/// Adds a running job of a process that has died.
inline void leave_orphan(const std::shared_ptr<store::Store>& store, const returner::Load& load) {
  REQUIRE(embedded::RunningTable(store).add(load, ""));
  REQUIRE(store->execute("UPDATE running_job SET start = 1 WHERE jid = ?", load.jid));
}

}  // namespace rest_fcgi::test
