// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
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

/// A job cache that can neither save nor read a job.
class FailingCache : public returner::Returner {
 public:
  Result<bool> prep_jid(std::string_view) override { return true; }
  Result<void> save_load(returner::Load, returner::Durability) override { return full(); }
  Result<void> save_job(const returner::Load&, std::span<const returner::ReturnView>) override {
    return full();
  }
  Result<void> save_minions(std::string_view, const std::vector<std::string>&) override { return full(); }
  Result<void> returner(std::string_view, returner::JobReturn) override { return full(); }
  Result<std::optional<returner::Load>> get_load(std::string_view) const override { return full(); }
  Result<std::vector<returner::JobReturn>> get_jid(std::string_view) const override { return full(); }
  Result<void> get_jids(const returner::JobQuery&, const returner::LoadVisitor&) const override {
    return full();
  }
  Result<void> flush() override { return full(); }

 private:
  static Error full() { return {ErrorKind::unavailable, "the disk is full"}; }
};

/// A job cache that answers only after a test has set `is_away` to false.
class CacheThatComesBack : public FailingCache {
 public:
  Result<std::optional<returner::Load>> get_load(std::string_view jid) const override {
    return is_away ? FailingCache::get_load(jid) : Result(std::optional<returner::Load>());
  }
  std::atomic<bool> is_away = true;
};

}  // namespace rest_fcgi::test
