// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "rest_fcgi/returner/returner.h"

namespace rest_fcgi::test {

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

}  // namespace rest_fcgi::test
