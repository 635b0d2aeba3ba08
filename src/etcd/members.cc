// SPDX-License-Identifier: MIT
#include "etcd/members.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <thread>
#include <utility>

#include "etcd/kv.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::etcd {
namespace {

bool is_host(std::string_view host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    return only_of(lower(host.substr(1, host.size() - 2)), "0123456789abcdef:.");
  }
  return only_of(lower(host), "0123456789abcdefghijklmnopqrstuvwxyz.-_");
}

bool is_endpoint(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    const std::string_view authority = url.substr(scheme.size());
    const std::size_t colon = authority.rfind(':');
    return colon != std::string_view::npos && is_host(authority.substr(0, colon)) &&
           parse_port(authority.substr(colon + 1));
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

/// A try that ends so close to the deadline was cut off by it, give or take a timer's tick.
constexpr std::chrono::milliseconds kCut{5};

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

/// Of 3.4 and later, of 3.3, and of what is older. Each version knows some older ones as well.
constexpr std::array<std::string_view, 3> kPrefixes{"/v3", "/v3beta", "/v3alpha"};

/// The status tells the cluster; servers that want a login first do not matter here: they have the API.
Tried<Probed> ask_status(Transport& transport, const std::string& url, std::string_view prefix,
                         Deadline deadline) {
  Result<HttpReply> reply =
      transport.exchange({.url = url + std::string(prefix) + "/maintenance/status", .body = "{}"}, deadline);
  if (!reply) return transport_failure(std::move(reply).error());
  if (reply->status != 200) {
    Failure failure = gateway_failure(*reply, url);
    if (failure.remedy == Remedy::next_member || failure.remedy == Remedy::other_prefix) return failure;
    return Probed{std::string(prefix), 0};
  }
  JsonDocument document;
  if (document.parse(reply->body, JsonLimits::none())) {
    if (const Result<Status> status = read_reply(document, read_status);
        status && status->header.cluster_id != 0) {
      return Probed{std::string(prefix), status->header.cluster_id};
    }
  }
  return Failure{{ErrorKind::unavailable, "etcd: " + url + ": its answer is not that of an etcd"},
                 Remedy::next_member};
}

}  // namespace

Result<void> check_options(const Options& options) {
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
  const bool has_password = options.password && !options.password->empty();
  if (options.username.empty() != has_password) return {};
  return Error{ErrorKind::configuration,
               has_password ? "etcd: a password without a username; both go together, or neither"
                            : "etcd: a username without a password; both go together, or neither"};
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

void Attempts::add(std::size_t member, const Failure& failure, bool cut_off) {
  if (!cut_off || last_words_[member].empty()) last_words_[member] = failure.error.message;
  ++count_;
  outcome_known_ = outcome_known_ && failure.outcome_known;
}

std::chrono::milliseconds Attempts::pause() const {
  const unsigned shortest = count_ < 3 ? 50U << count_ : 400U;
  return std::chrono::milliseconds(shortest + std::random_device()() % (shortest / 2));
}

Error Attempts::error(bool writes) const {
  Error error{writes && !outcome_known_ ? ErrorKind::timeout : ErrorKind::unavailable, {}};
  for (const std::string& words : last_words_) {
    if (words.empty()) continue;
    if (!error.message.empty()) error.message += "; ";
    error.message += words;
  }
  return error;
}

Result<void> retry(Endpoints& endpoints, Effect effect, Deadline deadline, const Try& attempt) {
  Attempts attempts(endpoints.size());
  while (true) {
    const std::size_t member = endpoints.choose(now());
    std::optional<Failure> failure = attempt(member);
    if (!failure) {
      endpoints.answered(member);
      return {};
    }
    if (failure->remedy == Remedy::next_member) endpoints.failed(member, now());
    if (effect == Effect::once && !failure->outcome_known) {
      failure->error.kind = ErrorKind::timeout;
      failure->error.message += "; whether it was carried out is not known";
      return std::move(failure->error);
    }
    if (failure->remedy != Remedy::next_member) return std::move(failure->error);
    attempts.add(member, *failure, now() + kCut >= deadline);
    const SteadyTime next = now() + attempts.pause();
    if (next >= deadline) return attempts.error(effect != Effect::none);
    std::this_thread::sleep_until(next);
  }
}

Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline) {
  Tried<Probed> probed;
  for (const std::string_view prefix : kPrefixes) {
    probed = ask_status(transport, url, prefix, deadline);
    Failure* const failure = std::get_if<Failure>(&probed);
    if (failure == nullptr || failure->remedy != Remedy::other_prefix) return probed;
    failure->remedy = Remedy::next_member;  // unless an older prefix is there
    failure->lacks_api = prefix == kPrefixes.back();
  }
  return probed;
}

}  // namespace rest_fcgi::etcd
