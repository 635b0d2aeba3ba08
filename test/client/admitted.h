// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../support/fake_master.h"
#include "rest_fcgi/client/netapi_client.h"

namespace rest_fcgi::test {

/// One chunk (command) with valid credentials, and what FakeMaster's `admit` returned for the chunk.
class Admitted {
 public:
  /// Admits a chunk. `keys` are additional members of the chunk as JSON without braces.
  Admitted(FakeMaster& master, std::string_view keys, SteadyTime deadline = SteadyTime::max())
      : permit_(admit(master, keys, deadline)) {}

  [[nodiscard]] const master::Permit& permit() const { return permit_; }

 private:
  master::Permit admit(FakeMaster& master, std::string_view keys, SteadyTime deadline) {
    const std::string body =
        R"({"eauth": "auto", "username": "saltdev", "password": "x", )" + std::string(keys) + "}";
    if (!document_.parse(body)) throw std::invalid_argument(body);
    auto chunks = lowstate::read(document_.root(), {});
    if (!chunks) throw std::invalid_argument(chunks.error().message);
    chunks_ = *std::move(chunks);
    return *master.admit(chunks_.at(0), deadline);
  }

  JsonDocument document_;
  std::vector<lowstate::Chunk> chunks_;
  master::Permit permit_;
};

/// The timeouts are short, because tests wait for them.
[[nodiscard]] inline client::Options quick_options() {
  client::Options options;
  options.enabled.assign(std::begin(lowstate::kClients), std::end(lowstate::kClients));
  options.timeout = std::chrono::milliseconds(30);
  options.gather_job_timeout = std::chrono::milliseconds(30);
  options.rest_timeout = std::chrono::milliseconds(30);
  return options;
}

}  // namespace rest_fcgi::test
