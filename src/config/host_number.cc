// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <functional>
#include <string>

#include "config/sections.h"

namespace rest_fcgi::config {
namespace {

/// Enough for the hosts that one cluster bears, and each can still make 15,000 job ids a second.
constexpr std::int64_t kHosts = 64;

/// The same at each start, and for each user of a host another, as far as chance has it.
std::int64_t default_number() {
  std::string name;
  if (!std::getline(std::ifstream("/etc/machine-id"), name)) {
    name.assign(HOST_NAME_MAX + 1, '\0');
    ::gethostname(name.data(), name.size() - 1);
  }
  const std::size_t hash = std::hash<std::string>{}(name + '/' + std::to_string(::geteuid()));
  return static_cast<std::int64_t>(hash % kHosts);
}

bool uses_etcd(const returner::Options& options) {
  const auto& others = options.ext_job_cache;
  return options.etcd.is_chosen || options.master_job_cache == "etcd" ||
         std::find(others.begin(), others.end(), "etcd") != others.end();
}

}  // namespace

void read_host_number(Reader& section, Settings& settings) {
  std::size_t number = static_cast<std::size_t>(default_number());
  section.count("host_number", number, {0, kHosts - 1});
  if (uses_etcd(settings.returner)) {
    settings.embedded.jid_share = {kHosts, static_cast<std::int64_t>(number)};
  }
}

}  // namespace rest_fcgi::config
