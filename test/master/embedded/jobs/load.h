// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

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

}  // namespace rest_fcgi::test
