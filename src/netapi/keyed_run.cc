// SPDX-License-Identifier: MIT
#include "netapi/keyed_run.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "netapi/replies.h"
#include "netapi/request.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/http/url.h"

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;
using master::Permit;

constexpr std::size_t kMostKey = 255;

bool is_idempotency_key(std::string_view text) {
  return text.size() <= kMostKey &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// The wheels that return a private key. No job cache and no table gets such a return.
bool returns_secret(const Permit& permit) {
  return !permit.chunk().is_local() && permit.chunk().master().function.name.starts_with("key.gen");
}

}  // namespace

bool surely_did_not_run(const Error& error) {
  const Status status = row_for(error.kind).status;
  return error.jid.empty() && !error.may_have_run &&
         (status == Status::bad_request || status == Status::unauthorized ||
          status == Status::too_many_requests || status == Status::service_unavailable);
}

std::optional<Response> KeyedRun::begin(Admission& admission, master::Master& master,
                                        const AuditTrail& trail) {
  if (key_.empty() || admission.refusal || admission.permits.empty()) return std::nullopt;
  std::string jids;
  for (Permit& permit : admission.permits) {
    if (auto prepared = master.prepare(permit); !prepared) {
      trail.write_refused(permit.chunk(), prepared.error(), row_for(prepared.error().kind).outcome);
      admission.refusal = std::move(prepared).error();
      admission.refused = &permit.chunk();
      return std::nullopt;
    }
    if (!permit.jid().empty()) jids.append(jids.empty() ? "" : ",").append(permit.jid());
    has_secret_ = has_secret_ || returns_secret(permit);
  }
  const Permit& first = admission.permits.front();
  auto claimed = claim(first.user(), first.eauth(), std::move(jids));
  if (is_claimed_) return std::nullopt;
  const std::string_view outcome = claimed ? "replayed" : row_for(claimed.error().kind).outcome;
  const std::string& ids = claimed ? request_.jids : claimed.error().jid;
  for (const Permit& permit : admission.permits) trail.write(permit, ids, outcome);
  if (claimed) return *std::move(claimed);
  admission.refusal = std::move(claimed).error();
  admission.refused = &first.chunk();
  return std::nullopt;
}

Result<std::optional<Response>> KeyedRun::begin(std::string_view what, std::string_view user,
                                                std::string_view eauth, const AuditTrail& trail) {
  if (key_.empty()) return std::optional<Response>();
  auto claimed = claim(user, eauth, {});
  if (is_claimed_) return claimed;
  trail.write_other(what, user, eauth, claimed ? "replayed" : row_for(claimed.error().kind).outcome);
  return claimed;
}

Result<std::optional<Response>> KeyedRun::claim(std::string_view user, std::string_view eauth,
                                                std::string jids) {
  if (!is_idempotency_key(key_)) {
    return Error{ErrorKind::malformed,
                 format("Idempotency-Key: expected 1 to {} visible ASCII characters", kMostKey)};
  }
  const http::Path path = http::path_of(environ_);
  const std::string url = format("{}{}?{}", path.above, path.below, query_of(environ_));
  request_ = auth::make_keyed_request(format("{} {}", eauth, user), key_, url, *environ_.body);
  request_.jids = std::move(jids);
  auto earlier = keys_->claim(request_, deadline_);
  if (!earlier) return std::move(earlier).error();
  is_claimed_ = !*earlier;
  if (is_claimed_) return std::optional<Response>();
  request_ = **std::move(earlier);
  Response response{static_cast<Status>(request_.status), {}, std::move(request_.body)};
  if (!request_.type.empty()) response.headers.emplace_back("Content-Type", request_.type);
  response.headers.emplace_back("Idempotency-Replayed", "true");
  return std::optional(std::move(response));
}

void KeyedRun::release() {
  if (std::exchange(is_claimed_, false)) keys_->release(request_);
}

void KeyedRun::end(const Response& response) {
  if (!std::exchange(is_claimed_, false)) return;
  const auto* const body = std::get_if<std::string>(&response.body);
  if (body != nullptr && !has_secret_ && body->size() <= auth::RequestKeys::kMostReply) {
    request_.status = static_cast<int>(response.status);
    request_.body = *body;
    for (const auto& [name, value] : response.headers) {
      if (name == "Content-Type") request_.type = value;
    }
  }
  keys_->keep(request_);
}

}  // namespace rest_fcgi::netapi
