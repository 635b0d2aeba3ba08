// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "netapi/audit.h"
#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/client/netapi_client.h"
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
  KeyedRun(const Options& options, const http::Environ& request, const Clock& clock, SteadyTime deadline)
      : keys_(options.request_keys.get()), environ_(request), clock_(clock), deadline_(deadline) {}
  ~KeyedRun();
  KeyedRun(const KeyedRun&) = delete;
  KeyedRun& operator=(const KeyedRun&) = delete;

  /// Claims the key for the request of the permits, and writes their job ids. If an earlier request had the
  /// key, waits for its end until the deadline. Returns the earlier reply, or std::nullopt if the request has
  /// to run. REQUIRES: the credentials of all chunks were checked. Errors: malformed, for a malformed key;
  /// key_reused, conflict and timeout, about the earlier request; unavailable; the errors of
  /// `Master::prepare`.
  Result<std::optional<http::Response>> begin(std::vector<master::Permit>& permits, master::Master& master,
                                              const AuditTrail& trail);

  /// Claims the key for a request without chunks, like `begin`. `what` is its name in the audit line.
  Result<std::optional<http::Response>> begin(std::string_view what, std::string_view user,
                                              std::string_view eauth, const AuditTrail& trail);

  /// Says that nothing of the request ran, so that its repetition runs.
  void note_nothing_ran() noexcept { nothing_ran_ = true; }

  /// Keeps the reply for repetitions. REQUIRES: the reply was not sent.
  void end(const http::Response& response);

 private:
  /// Returns the key, or an empty text if the engine remembers no requests.
  [[nodiscard]] std::string_view key() const noexcept;
  Result<std::optional<http::Response>> claim(std::string_view user, std::string jids);

  auth::RequestKeys* const keys_;  // Null if the engine remembers no requests.
  const http::Environ& environ_;
  const Clock& clock_;
  const SteadyTime deadline_;
  auth::KeyedRequest request_;
  bool is_claimed_ = false;
  bool nothing_ran_ = false;
  bool has_secret_ = false;  // Whether the reply has a new private key.
};

/// Returns whether a chunk with this error surely did not run.
[[nodiscard]] bool surely_did_not_run(const Error& error) noexcept;

}  // namespace rest_fcgi::netapi
