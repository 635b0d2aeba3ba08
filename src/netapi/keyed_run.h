// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "netapi/audit.h"
#include "netapi/lowstate_run.h"
#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/master/master.h"
#include "rest_fcgi/netapi/options.h"

namespace rest_fcgi::netapi {

/// The run of one request with the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): the
/// request runs once, and its repetitions get the same reply. Without the header, an object does nothing.
/// Borrows the arguments of the constructor. Used by one thread.
class KeyedRun {
 public:
  KeyedRun(const Options& options, const http::Environ& request, SteadyTime deadline)
      : keys_(options.request_keys.get()),
        environ_(request),
        deadline_(deadline),
        key_(keys_ == nullptr ? std::string_view() : request.get("HTTP_IDEMPOTENCY_KEY")) {}

  /// Claims the key for the admitted chunks, and prepares their permits. If an earlier request had the key,
  /// waits for its end until the deadline, and returns its reply. If the chunks must not run, sets
  /// `admission.refusal`.
  std::optional<http::Response> begin(Admission& admission, master::Master& master, const AuditTrail& trail);

  /// The same for a request without chunks. `what` is its name in the audit line. Errors: malformed, for a
  /// malformed key; key_reused, conflict and timeout, about the earlier request; unavailable.
  Result<std::optional<http::Response>> begin(std::string_view what, std::string_view user,
                                              std::string_view eauth, const AuditTrail& trail);

  /// Forgets the request, of which nothing ran, so that its repetition runs.
  void release();

  /// Keeps the reply for repetitions. REQUIRES: the reply was not sent.
  void end(const http::Response& response);

 private:
  Result<std::optional<http::Response>> claim(std::string_view user, std::string_view eauth,
                                              std::string jids);

  auth::RequestKeys* const keys_;  // Null if the engine remembers no requests.
  const http::Environ& environ_;
  const SteadyTime deadline_;
  const std::string_view key_;  // Empty if the engine remembers no requests.
  auth::KeyedRequest request_;
  bool is_claimed_ = false;
  bool has_secret_ = false;  // Whether the reply has a new private key.
};

/// Returns whether a chunk with this error surely did not run.
[[nodiscard]] bool surely_did_not_run(const Error& error);

}  // namespace rest_fcgi::netapi
