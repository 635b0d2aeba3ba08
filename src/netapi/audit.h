// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/netapi/refusals.h"

namespace rest_fcgi::netapi {

/// The outcome of a chunk that did not run because another chunk was refused or failed.
inline constexpr std::string_view kNotRun = "not-run";

/// The content of one audit line, without arguments and secrets. Borrows its texts.
struct AuditEntry {
  WallTime time;
  /// The user and the back end. For an unknown user, these are the texts that the caller sent. If the caller
  /// sent a token, `eauth` is `token`.
  std::string_view user;
  std::string_view eauth;
  std::string_view remote;
  std::string_view client;
  std::string_view fun;  ///< `fun` is the function. Several functions are separated by commas.
  std::string_view tgt;  ///< `tgt` is the target. The items of a list target are separated by commas.
  std::string_view jid;
  /// One of `ok`, `sent`, `denied`, `throttled`, `invalid`, `failed`, `timeout`, `unavailable`, `not-run`,
  /// `replayed`, or `refused` for several requests.
  std::string_view outcome;
  std::size_t count = 0;          ///< With `refused`, the number of requests that the line stands for.
  std::string_view request_id{};  ///< The id that the web server gave the request, or empty.
  std::string_view reason;        ///< The setting that denied the request, such as `api_acl`, or empty.
  std::chrono::microseconds took{0};
};

/// Returns the line as `key=value` text or as a JSON object. Cuts values at 256 bytes. In `key=value` text,
/// `-` is an empty value, and values with special characters are quoted as in JSON.
[[nodiscard]] std::string audit_line(const AuditEntry& entry, bool as_json);

/// Writes the audit lines of one request. Borrows the constructor's arguments. Used by one thread.
class AuditTrail {
 public:
  /// With `refusals`, the lines of refused requests without a valid login are limited. REQUIRES: this thread
  /// is in the `log::RequestScope` of the request, if the request has an id.
  AuditTrail(const Clock& clock, std::string_view remote, bool as_json, Refusals* refusals = nullptr)
      : clock_(clock),
        remote_(remote),
        request_id_(log::request_id()),
        as_json_(as_json),
        refusals_(refusals),
        since_(clock.steady()) {}

  void restart() { since_ = clock_.steady(); }

  void write_unreadable(std::string_view outcome) const;

  void write(const master::Permit& permit, std::string_view jid, std::string_view outcome) const;

  void write_refused(const lowstate::Chunk& chunk, const Error& error, std::string_view outcome) const;

  /// Writes the line of a refused login.
  void write_refused_login(std::string_view what, std::string_view user, std::string_view eauth,
                           std::string_view outcome, std::string_view reason = {}) const;

  /// Writes the line of a request without chunks, such as a login.
  void write_other(std::string_view what, std::string_view user, std::string_view eauth,
                   std::string_view outcome, std::string_view reason = {}) const;

 private:
  [[nodiscard]] AuditEntry entry(std::string_view outcome) const;
  void write(const lowstate::Chunk& chunk, AuditEntry line) const;
  /// Returns whether the line of a refused request without a valid login may be written.
  [[nodiscard]] bool may_write(std::string_view outcome) const;

  const Clock& clock_;
  std::string_view remote_;
  std::string_view request_id_;
  bool as_json_;
  Refusals* refusals_;  // May be null.
  SteadyTime since_;
};

}  // namespace rest_fcgi::netapi
