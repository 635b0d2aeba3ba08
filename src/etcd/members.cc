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

#include "etcd/messages.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::etcd {
namespace {

bool is_endpoint(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme)) return parse_host_port(url.substr(scheme.size())).has_value();
  }
  return false;
}

Error malformed_endpoint(std::string_view url) {
  const std::size_t at = url.rfind('@');
  const bool has_user = at != std::string_view::npos;
  return {ErrorKind::configuration,
          format("etcd: endpoint: found {}, expected http://HOST:PORT or https://HOST:PORT, with brackets "
                 "around an IPv6 address{}",
                 quoted_excerpt(has_user ? url.substr(at + 1) : url),
                 has_user ? ", and without name and password; use etcd.username and etcd.password" : "")};
}

/// If an attempt fails within this time before the deadline, the deadline counts as the cause.
constexpr std::chrono::milliseconds kTimerTick{5};

SteadyTime now() {
  return std::chrono::steady_clock::now();
}

/// The API prefixes, the newest first. etcd 3.4 and later have `/v3`, etcd 3.3 has `/v3beta`, and older
/// versions have `/v3alpha`.
constexpr std::array<std::string_view, 3> kPrefixes{"/v3", "/v3beta", "/v3alpha"};

Tried<Probed> ask_status(Transport& transport, const std::string& url, std::string_view prefix,
                         Deadline deadline) {
  Result<HttpReply> reply =
      transport.exchange({.url = url + std::string(prefix) + "/maintenance/status", .body = "{}"}, deadline);
  if (!reply) return transport_failure(std::move(reply).error());
  if (reply->status != 200) {
    Failure failure = gateway_failure(*reply, url);
    if (failure.action == RetryAction::next_member || failure.action == RetryAction::other_prefix) {
      return failure;
    }
    return Probed{std::string(prefix), 0};
  }
  JsonDocument document;
  if (document.parse(reply->body, JsonLimits::none())) {
    if (const Result<Status> status = read_reply(document, read_status); status && status->cluster_id != 0) {
      return Probed{std::string(prefix), status->cluster_id};
    }
  }
  return Failure{{ErrorKind::unavailable, format("etcd: {}: malformed reply: found no cluster_id", url)},
                 RetryAction::next_member};
}

}  // namespace

Result<void> check_options(const Options& options) {
  if (options.endpoints.empty()) {
    return Error{ErrorKind::configuration,
                 "etcd: endpoint: found none, expected at least one http(s)://HOST:PORT"};
  }
  const bool has_tls = !options.ca.empty() || !options.client_cert.empty();
  for (const std::string& url : options.endpoints) {
    if (!is_endpoint(url)) return malformed_endpoint(url);
    if (has_tls && url.starts_with("http:")) {
      return Error{ErrorKind::configuration,
                   format("etcd: endpoint: found {}, expected https://, because ca or client_cert is set",
                          quoted_excerpt(url))};
    }
  }
  const bool has_password = options.password && !options.password->empty();
  if (options.username.empty() != has_password) return {};
  return Error{ErrorKind::configuration,
               format("etcd: found a {} without a {}, expected both or neither",
                      has_password ? "password" : "username", has_password ? "username" : "password")};
}

Members::Members(const std::vector<std::string>& urls) {
  members_.reserve(urls.size());
  for (const std::string& url : urls) members_.push_back({.url = url});
}

std::size_t Members::choose(SteadyTime now) const {
  const MutexLock lock(mutex_);
  std::size_t chosen = current_;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::size_t candidate = (current_ + i) % members_.size();
    const std::optional<SteadyTime>& failed_at = members_[candidate].failed_at;
    if (!failed_at || now - *failed_at >= kSkipped) return candidate;
    if (failed_at < members_[chosen].failed_at) chosen = candidate;
  }
  return chosen;
}

void Members::note_answer(std::size_t member) {
  const MutexLock lock(mutex_);
  members_[member].failed_at.reset();
  current_ = member;
}

void Members::note_failure(std::size_t member, SteadyTime now) {
  const MutexLock lock(mutex_);
  members_[member].failed_at = now;
  members_[member].prefix.clear();
  if (current_ == member) current_ = (member + 1) % members_.size();
}

std::string Members::prefix(std::size_t member) const {
  const MutexLock lock(mutex_);
  return members_[member].prefix;
}

void Members::set_prefix(std::size_t member, std::string prefix) {
  const MutexLock lock(mutex_);
  members_[member].prefix = std::move(prefix);
}

Result<bool> Members::set_cluster(std::size_t member, std::uint64_t cluster_id) {
  const MutexLock lock(mutex_);
  Member& named = members_[member];
  if (cluster_id == 0 || named.cluster_id == cluster_id) return false;
  if (named.cluster_id != 0) {
    for (Member& other : members_) other.cluster_id = 0;
    named.cluster_id = cluster_id;
    return true;
  }
  for (const Member& other : members_) {
    if (other.cluster_id == 0 || other.cluster_id == cluster_id) continue;
    return Error{
        ErrorKind::configuration,
        format("etcd: {} and {} are members of different clusters ({:x} and {:x}), expected one cluster",
               other.url, named.url, other.cluster_id, cluster_id)};
  }
  named.cluster_id = cluster_id;
  return false;
}

Result<void> retry(Members& members, Effect effect, Deadline deadline, const Attempt& attempt) {
  std::vector<std::string> last_errors(members.size());
  bool is_outcome_known = true;
  for (unsigned count = 0;; ++count) {
    const std::size_t member = members.choose(now());
    std::optional<Failure> failure = attempt(member);
    if (!failure) {
      members.note_answer(member);
      return {};
    }
    if (failure->action == RetryAction::next_member) members.note_failure(member, now());
    if (effect == Effect::writes_once && !failure->is_outcome_known) {
      failure->error.kind = ErrorKind::timeout;
      failure->error.message += "; the request may have been executed";
      return std::move(failure->error);
    }
    if (failure->action != RetryAction::next_member) return std::move(failure->error);
    is_outcome_known = is_outcome_known && failure->is_outcome_known;
    // If the deadline ended this attempt, keeps the earlier error, because it says more about the member.
    std::string& last_error = last_errors[member];
    if (last_error.empty() || now() + kTimerTick < deadline) last_error = std::move(failure->error.message);
    // The pause has a random part, so that callers that failed together do not try again together.
    const unsigned shortest = count < 2 ? 100U << count : 400U;
    const SteadyTime next =
        now() + std::chrono::milliseconds(shortest + std::random_device()() % (shortest / 2));
    if (next >= deadline) break;
    std::this_thread::sleep_until(next);
  }
  std::erase(last_errors, "");
  const bool may_be_written = effect != Effect::reads && !is_outcome_known;
  return Error{may_be_written ? ErrorKind::timeout : ErrorKind::unavailable, joined(last_errors, "; ")};
}

Tried<Probed> probe(Transport& transport, const std::string& url, Deadline deadline) {
  Tried<Probed> probed;
  for (const std::string_view prefix : kPrefixes) {
    probed = ask_status(transport, url, prefix, deadline);
    Failure* const failure = std::get_if<Failure>(&probed);
    if (failure == nullptr || failure->action != RetryAction::other_prefix) return probed;
    failure->action = RetryAction::next_member;
    failure->lacks_api = prefix == kPrefixes.back();
  }
  return probed;
}

}  // namespace rest_fcgi::etcd
