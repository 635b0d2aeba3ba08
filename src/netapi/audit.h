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

/// The outcome of a chunk that another one of its list kept from running.
inline constexpr std::string_view kNotRun = "not-run";

/// One audit line: who asked for what, and what became of it. No arguments, no secrets. Borrows.
struct AuditEntry {
  WallTime time;
  std::string_view user;    ///< who it was; where nobody was recognized, the name that was given
  std::string_view eauth;   ///< the back end that knows them; the name that was given; else `token`
  std::string_view remote;  ///< address
  std::string_view client;
  std::string_view fun;  ///< several: with commas between
  std::string_view tgt;  ///< a list: with commas between
  std::string_view jid;
  std::string_view outcome;  ///< ok, sent, denied, throttled, invalid, failed, timeout, unavailable, not-run
  std::string_view reason;   ///< the setting that denied it, such as `api_acl`; empty: it is left out
  std::chrono::microseconds took{0};
};

/// The entry as `key=value` text, or as a JSON object. Values are cut at 256 bytes; in text, what holds other
/// than plain characters is quoted as in JSON, and `-` stands for nothing.
[[nodiscard]] std::string audit_line(const AuditEntry& entry, bool as_json);

/// Writes the audit lines of one request. Borrows all that it is given. Not synchronized.
class AuditTrail {
 public:
  AuditTrail(const Clock& clock, std::string_view remote, bool as_json)
      : clock_(clock), remote_(remote), as_json_(as_json), since_(clock.steady()) {}

  /// What follows is about the next chunk: time is counted from here.
  void restart() { since_ = clock_.steady(); }

  /// A body that could not be read into chunks.
  void write_unreadable(std::string_view outcome) const;

  /// A chunk that was admitted.
  void write(const master::Permit& permit, std::string_view jid, std::string_view outcome) const;

  /// A chunk that was refused.
  void write_refused(const lowstate::Chunk& chunk, const Error& error, std::string_view outcome) const;

  /// What is no chunk, such as a login, by whom, or by whom it is said to be.
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
