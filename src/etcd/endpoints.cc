// SPDX-License-Identifier: MIT
#include "etcd/endpoints.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

bool only_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [allowed](char c) {
    return allowed.find(static_cast<char>(c | 0x20)) != std::string_view::npos ||
           allowed.find(c) != std::string_view::npos;
  });
}

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    return only_of(host.substr(1, host.size() - 2), "0123456789abcdef:.");
  }
  return only_of(host, "0123456789abcdefghijklmnopqrstuvwxyz.-_");
}

bool is_port(std::string_view port) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size() && number >= 1 && number <= 65535;
}

bool is_endpoint(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view authority = url.substr(scheme.size());
    const std::size_t colon = authority.rfind(':');
    return colon != std::string_view::npos && is_host(authority.substr(0, colon)) &&
           is_port(authority.substr(colon + 1));
  }
  return false;
}

Error no_endpoint(std::string_view url) {
  const std::size_t at = url.rfind('@');
  const bool has_user = at != std::string_view::npos;
  return {
      ErrorKind::configuration,
      format("etcd: endpoint {}: http://HOST:PORT or https://HOST:PORT is accepted, with an IPv6 address in "
             "brackets{}",
             quoted(has_user ? url.substr(at + 1) : url),
             has_user ? "; name and password have options of their own" : "")};
}

}  // namespace

Result<void> check_endpoints(const Options& options) {
  if (options.endpoints.empty()) {
    return Error{ErrorKind::configuration, "etcd: no endpoint; at least one http(s)://HOST:PORT is needed"};
  }
  const bool has_tls = !options.ca.empty() || !options.client_cert.empty();
  for (const std::string& url : options.endpoints) {
    if (!is_endpoint(url)) return no_endpoint(url);
    if (has_tls && url.starts_with("http:")) {
      return Error{ErrorKind::configuration,
                   format("etcd: endpoint {}: ca and client_cert go with https:// only", quoted(url))};
    }
  }
  return {};
}

Endpoints::Endpoints(const std::vector<std::string>& urls) {
  members_.reserve(urls.size());
  for (const std::string& url : urls) members_.push_back({.url = url});
}

std::size_t Endpoints::choose(SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  std::size_t chosen = current_;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t candidate = (current_ + i) % members_.size();
    const Member& member = members_[candidate];
    if (!member.failed || now - member.failed_at >= kSkipped) return candidate;
    if (member.failed_at < members_[chosen].failed_at) chosen = candidate;
  }
  return chosen;
}

void Endpoints::answered(std::size_t member) {
  const std::lock_guard lock(mutex_);
  members_[member].failed = false;
  current_ = member;
}

void Endpoints::failed(std::size_t member, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  members_[member].failed = true;
  members_[member].failed_at = now;
  members_[member].prefix.clear();
  if (current_ == member) current_ = (member + 1) % members_.size();
}

std::string Endpoints::prefix(std::size_t member) const {
  const std::lock_guard lock(mutex_);
  return members_[member].prefix;
}

void Endpoints::set_prefix(std::size_t member, std::string prefix) {
  const std::lock_guard lock(mutex_);
  members_[member].prefix = std::move(prefix);
}

Result<bool> Endpoints::set_cluster(std::size_t member, std::uint64_t cluster_id) {
  const std::lock_guard lock(mutex_);
  Member& told = members_[member];
  if (cluster_id == 0 || told.cluster_id == cluster_id) return false;
  if (told.cluster_id != 0) {
    for (Member& other : members_) other.cluster_id = 0;
    told.cluster_id = cluster_id;
    return true;
  }
  for (const Member& other : members_) {
    if (other.cluster_id == 0 || other.cluster_id == cluster_id) continue;
    return Error{ErrorKind::configuration,
                 format("etcd: {} and {} are of different clusters ({:x} and {:x}); all endpoints have to be "
                        "members of one",
                        other.url, told.url, other.cluster_id, cluster_id)};
  }
  told.cluster_id = cluster_id;
  return false;
}

}  // namespace rest_fcgi::etcd
