// SPDX-License-Identifier: MIT
#include "netapi/keyed_run.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "netapi/replies.h"
#include "netapi/request.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/http/url.h"

namespace rest_fcgi::netapi {
namespace {

using auth::Claim;
using http::Response;
using master::Permit;
using namespace std::chrono_literals;

constexpr std::size_t kMostKey = 255;

bool is_idempotency_key(std::string_view text) {
  return text.size() <= kMostKey &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// The time after the deadline in which a request still ends.
constexpr auto kGrace = 10s;

/// The wheels that return a private key. No job cache and no table gets such a return.
bool returns_secret(const Permit& permit) {
  return !permit.chunk().is_local() && permit.chunk().master().function.name.starts_with("key.gen");
}

std::string method_and_url_of(const http::Environ& environ) {
  const http::Path path = http::path_of(environ);
  return format("{} {}{}?{}", environ.get("REQUEST_METHOD"), path.above, path.below, query_of(environ));
}

Error conflict_of(const Claim& claim) {
  const std::string jobs = claim.jids.empty() ? "no jid is known" : "jid " + claim.jids;
  switch (claim.state) {
    case Claim::State::other_content:
      return {
          ErrorKind::key_reused,
          "Idempotency-Key: found a request with another URL or body than the first request with this key, "
          "expected the same. Send a new key for a new request."};
    case Claim::State::runs:
      return {ErrorKind::timeout,
              format("The first request with this Idempotency-Key still runs ({}). Repeat the request later.",
                     jobs),
              claim.jids};
    default:
      return {
          ErrorKind::conflict,
          format(
              "The first request with this Idempotency-Key may have run ({}), but its reply is not known. It "
              "does not run again. Look for the job with the runner jobs.lookup_jid or jobs.list_jobs; send "
              "a new key to run it again.",
              jobs),
          claim.jids};
  }
}

Response replay_of(auth::KeptReply reply) {
  Response response{static_cast<http::Status>(reply.status), {}, std::move(reply.body)};
  if (!reply.type.empty()) response.headers.emplace_back("Content-Type", std::move(reply.type));
  response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

}  // namespace

bool surely_did_not_run(const Error& error) noexcept {
  if (!error.jid.empty() || error.may_have_run) return false;
  switch (error.kind) {
    case ErrorKind::malformed:
    case ErrorKind::invocation:
    case ErrorKind::unknown_runner:
    case ErrorKind::authentication:
    case ErrorKind::authorization:
    case ErrorKind::throttled:
    case ErrorKind::unavailable:
      return true;
    default:
      return false;
  }
}

std::string_view KeyedRun::key() const noexcept {
  return keys_ == nullptr ? std::string_view() : environ_.get("HTTP_IDEMPOTENCY_KEY");
}

KeyedRun::~KeyedRun() {
  if (is_claimed_) keys_->keep(request_, {});
}

Result<std::optional<Response>> KeyedRun::begin(std::vector<Permit>& permits, master::Master& master,
                                                const AuditTrail& trail) {
  if (key().empty() || permits.empty()) return std::optional<Response>();
  std::string users;
  std::string jids;
  for (Permit& permit : permits) {
    if (auto prepared = master.prepare(permit); !prepared) {
      trail.write_refused(permit.chunk(), prepared.error(), row_for(prepared.error().kind).outcome);
      return std::move(prepared).error();
    }
    const std::string user = format("{} {}\n", permit.eauth(), permit.user());
    if (users.find(user) == std::string::npos) users += user;
    if (!permit.jid().empty()) jids.append(jids.empty() ? "" : ",").append(permit.jid());
    has_secret_ = has_secret_ || returns_secret(permit);
  }
  auto claimed = claim(users, std::move(jids));
  if (claimed && !claimed->has_value()) return claimed;
  const std::string_view outcome = claimed ? "replayed" : row_for(claimed.error().kind).outcome;
  for (const Permit& permit : permits) trail.write(permit, request_.jids, outcome);
  return claimed;
}

Result<std::optional<Response>> KeyedRun::begin(std::string_view what, std::string_view user,
                                                std::string_view eauth, const AuditTrail& trail) {
  if (key().empty()) return std::optional<Response>();
  auto claimed = claim(format("{} {}\n", eauth, user), {});
  if (claimed && !claimed->has_value()) return claimed;
  trail.write_other(what, user, eauth, claimed ? "replayed" : row_for(claimed.error().kind).outcome);
  return claimed;
}

Result<std::optional<Response>> KeyedRun::claim(std::string_view user, std::string jids) {
  if (!is_idempotency_key(key())) {
    return Error{ErrorKind::malformed,
                 format("Idempotency-Key: expected 1 to {} visible ASCII characters", kMostKey)};
  }
  request_ = auth::make_keyed_request(user, key(), method_and_url_of(environ_), *environ_.body);
  request_.jids = std::move(jids);
  request_.until =
      clock_.wall() + std::chrono::duration_cast<WallTime::duration>(deadline_ - clock_.steady() + kGrace);
  for (auto pause = 10ms;; pause = std::min(2 * pause, 200ms)) {
    Result<Claim> claimed = keys_->claim(request_);
    if (!claimed) return std::move(claimed).error();
    if (claimed->state == Claim::State::is_new) {
      is_claimed_ = true;
      return std::optional<Response>();
    }
    if (claimed->state == Claim::State::runs && clock_.steady() < deadline_) {
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, deadline_ - clock_.steady()));
      continue;
    }
    request_.jids = claimed->jids;
    if (claimed->state == Claim::State::has_reply) {
      ++keys_->replays;
      return std::optional(replay_of(std::move(claimed->reply)));
    }
    if (claimed->state != Claim::State::runs) ++keys_->conflicts;
    return conflict_of(*claimed);
  }
}

void KeyedRun::end(const Response& response) {
  if (!std::exchange(is_claimed_, false)) return;
  if (nothing_ran_) return keys_->release(request_);
  const auto* const body = std::get_if<std::string>(&response.body);
  if (body == nullptr || has_secret_ || body->size() > auth::RequestKeys::kMostReply)
    return keys_->keep(request_, {});
  auth::KeptReply reply{static_cast<int>(response.status), {}, *body};
  for (const auto& [name, value] : response.headers) {
    if (name == "Content-Type") reply.type = value;
  }
  keys_->keep(request_, reply);
}

}  // namespace rest_fcgi::netapi
