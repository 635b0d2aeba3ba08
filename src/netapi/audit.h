// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::netapi {

/// The outcome of a chunk that did not run because another chunk of the request was refused or failed.
inline constexpr std::string_view kNotRun = "not-run";

/// The content of one audit line. Arguments and secrets are not in it. Borrows its texts.
struct AuditEntry {
  WallTime time;
  std::string_view user;    ///< The user. If the user is unknown, the name that the caller sent.
  std::string_view eauth;   ///< The user's back end. If the user is unknown, the back end that the caller
                            ///< sent, or `token`.
  std::string_view remote;  ///< the client's address
  std::string_view client;
  std::string_view fun;  ///< The function; several names are joined with commas.
  std::string_view tgt;  ///< The target; the items of a list are joined with commas.
  std::string_view jid;
  std::string_view outcome;  ///< The outcome: ok, sent, denied, throttled, invalid, failed, timeout,
                             ///< unavailable or not-run.
  std::string_view reason;   ///< The setting that denied the request, such as `api_acl`. An empty reason is
                             ///< left out of the line.
  std::chrono::microseconds took{0};
};

/// Returns the line as `key=value` text or as a JSON object. Values are cut at 256 bytes. In text, an empty
/// value is `-`, and values with special characters are quoted as in JSON.
[[nodiscard]] std::string audit_line(const AuditEntry& entry, bool as_json);

/// Writes the audit lines of one request. Borrows its arguments. Not synchronized.
class AuditTrail {
 public:
  AuditTrail(const Clock& clock, std::string_view remote, bool as_json)
      : clock_(clock), remote_(remote), as_json_(as_json), since_(clock.steady()) {}

  /// Starts the clock for the next chunk.
  void restart() { since_ = clock_.steady(); }

  /// Writes the audit line of a request whose body could not be read.
  void write_unreadable(std::string_view outcome) const;

  /// Writes the audit line of an admitted chunk.
  void write(const master::Permit& permit, std::string_view jid, std::string_view outcome) const;

  /// Writes the audit line of a refused chunk.
  void write_refused(const lowstate::Chunk& chunk, const Error& error, std::string_view outcome) const;

  /// Writes the audit line of a request without chunks, such as a login.
  void write_other(std::string_view what, std::string_view user, std::string_view eauth,
                   std::string_view outcome, std::string_view reason = {}) const;

 private:
  [[nodiscard]] AuditEntry entry(std::string_view outcome) const;
  void write(const lowstate::Chunk& chunk, AuditEntry line) const;

  const Clock& clock_;
  std::string_view remote_;
  bool as_json_;
  SteadyTime since_;
};

}  // namespace rest_fcgi::netapi
