// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/refusals.h"

#include <utility>

#include "netapi/audit.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/http/addresses.h"

namespace rest_fcgi::netapi {
namespace {

constexpr std::size_t kLines = 10;
// All further addresses of a second count as one address.
constexpr std::size_t kMostAddresses = 1000;
constexpr const char* kOthers = "*";

}  // namespace

bool Refusals::count(std::string_view remote, std::string_view outcome, bool as_json) {
  std::string network = http::network_of(remote);
  const MutexLock lock(mutex_);
  auto found = addresses_.find(network);
  if (found == addresses_.end()) {
    const bool has_room = addresses_.size() < kMostAddresses;
    if (!has_room) network = kOthers;
    const auto address = IpAddress::parse(remote);
    const bool is_network = address && address->version() == 6;
    const std::string shown = has_room ? format("{}{}", remote, is_network ? "/64" : "") : kOthers;
    found = addresses_.try_emplace(std::move(network), Address{shown, as_json}).first;
  }
  Address& address = found->second;
  if (address.lines < kLines) {
    ++address.lines;
    return true;
  }
  ++address.hidden.try_emplace(std::string(outcome)).first->second;
  return false;
}

void Refusals::write_sums(const Clock& clock) {
  MutexLock lock(mutex_);
  const auto addresses = std::exchange(addresses_, {});
  lock.unlock();
  for (const auto& [network, address] : addresses) {
    if (address.hidden.empty()) continue;
    AuditEntry line;
    std::string outcomes;
    for (const auto& [outcome, number] : address.hidden) {
      line.count += number;
      outcomes += format("{}{}: {}", outcomes.empty() ? "" : ", ", outcome, number);
    }
    line.time = clock.wall();
    line.remote = address.remote;
    line.outcome = "refused";
    line.reason = outcomes;
    log::audit(audit_line(line, address.as_json));
  }
}

}  // namespace rest_fcgi::netapi
