// SPDX-License-Identifier: MIT
#include "netapi/audit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/log.h"

// An audit line, in both forms with its fields in this order:
//   time=2026-11-20T23:06:17.380Z user=fred eauth=pam remote_addr=::1 client=local fun=test.ping tgt=* jid=-
//   outcome=ok reason=api_acl count=3 request_id=x ms=1.234
//   {"time": "2026-11-20T23:06:17.380Z", ..., "outcome": "ok", "ms": 1.234}
// `reason` and `request_id` are missing if they are empty, and `count` if it is 0.

namespace rest_fcgi::netapi {
namespace {

constexpr std::size_t kMaxValue = 256;

struct Field {
  std::string_view label;  ///< The name of the field, with a leading space and an equals sign.
  std::string_view value;

  [[nodiscard]] std::string_view name() const { return label.substr(1, label.size() - 2); }
};

/// For each character, whether a value with this character needs no quotes.
constexpr auto kNeedsNoQuotes = [] {
  std::array<bool, 256> plain{};
  for (int c = '!'; c <= '~'; ++c) plain[static_cast<std::size_t>(c)] = c != '"' && c != '\\' && c != '=';
  return plain;
}();

constexpr auto needs_no_quotes = [](unsigned char c) { return kNeedsNoQuotes[c]; };

void append_value(std::string& line, std::string_view value) {
  if (value.empty()) {
    line += '-';
  } else if (value == "-" || !std::all_of(value.begin(), value.end(), needs_no_quotes)) {
    JsonWriter(line).string(excerpt(value, kMaxValue));
  } else if (value.size() > kMaxValue) {
    line += excerpt(value, kMaxValue);
  } else {
    line += value;
  }
}

void append_milliseconds(std::string& line, std::chrono::microseconds time) {
  constexpr std::int64_t kThousand = 1000;
  const std::int64_t micros = time.count();
  line.append(std::to_string(micros / kThousand)).append(std::to_string(kThousand + micros % kThousand));
  line[line.size() - 4] = '.';
}

/// The size in bytes after which `joined` adds no more names.
constexpr std::size_t kMaxJoined = 512;

template <class List, class Name>
std::string joined(const List& list, Name name) {
  std::string text;
  for (const auto& element : list) {
    if (text.size() > kMaxJoined) break;
    if (!text.empty()) text += ',';
    text.append(name(element));
  }
  return text;
}

std::string target_of(const lowstate::Chunk& chunk) {
  if (!chunk.is_local()) return {};
  const lowstate::Target& target = chunk.local().target;
  if (target.list.empty()) return std::string(target.expression);
  return joined(target.list, [](std::string_view id) { return id; });
}

}  // namespace

std::string audit_line(const AuditEntry& entry, bool as_json) {
  const std::string time = log_stamp(entry.time);
  const std::array<Field, 9> fields{{{" time=", time},
                                     {" user=", entry.user},
                                     {" eauth=", entry.eauth},
                                     {" remote_addr=", entry.remote},
                                     {" client=", entry.client},
                                     {" fun=", entry.fun},
                                     {" tgt=", entry.tgt},
                                     {" jid=", entry.jid},
                                     {" outcome=", entry.outcome}}};
  std::string line;
  line.reserve(512);
  if (as_json) {
    JsonWriter writer(line);
    writer.begin_object();
    for (const Field& field : fields) writer.key(field.name()).string(excerpt(field.value, kMaxValue));
    if (!entry.reason.empty()) writer.key("reason").string(entry.reason);
    if (entry.count != 0) writer.key("count").integer(static_cast<std::int64_t>(entry.count));
    if (!entry.request_id.empty()) writer.key("request_id").string(entry.request_id);
    writer.key("ms").number(std::chrono::duration<double, std::milli>(entry.took).count()).end_object();
    return line;
  }
  for (const Field& field : fields) {
    line.append(line.empty() ? field.label.substr(1) : field.label);
    append_value(line, field.value);
  }
  if (!entry.reason.empty()) append_value(line.append(" reason="), entry.reason);
  if (entry.count != 0) line.append(" count=").append(std::to_string(entry.count));
  if (!entry.request_id.empty()) append_value(line.append(" request_id="), entry.request_id);
  append_milliseconds(line.append(" ms="), entry.took);
  return line;
}

AuditEntry AuditTrail::entry(std::string_view outcome) const {
  AuditEntry entry;
  entry.time = clock_.wall();
  entry.remote = remote_;
  entry.outcome = outcome;
  entry.request_id = request_id_;
  entry.took = std::chrono::duration_cast<std::chrono::microseconds>(clock_.steady() - since_);
  return entry;
}

bool AuditTrail::may_write(std::string_view outcome) const {
  return refusals_ == nullptr || refusals_->count(remote_, outcome, as_json_);
}

void AuditTrail::write_unreadable(std::string_view outcome) const {
  if (!may_write(outcome)) return;
  log::audit(audit_line(entry(outcome), as_json_));
}

void AuditTrail::write(const lowstate::Chunk& chunk, AuditEntry line) const {
  const auto name = [](const lowstate::Function& function) { return function.name; };
  const std::string fun =
      chunk.is_local() ? joined(chunk.local().functions, name) : std::string(chunk.master().function.name);
  const std::string tgt = target_of(chunk);
  line.client = name_of(chunk.client);
  line.fun = fun;
  line.tgt = tgt;
  log::audit(audit_line(line, as_json_));
}

void AuditTrail::write(const master::Permit& permit, std::string_view jid, std::string_view outcome) const {
  AuditEntry line = entry(outcome);
  line.user = permit.user();
  line.eauth = permit.eauth();
  line.jid = jid;
  write(permit.chunk(), line);
}

void AuditTrail::write_refused(const lowstate::Chunk& chunk, const Error& error,
                               std::string_view outcome) const {
  const bool recognized = !error.user.empty();
  if (!recognized && !may_write(outcome)) return;
  AuditEntry line = entry(outcome);
  const auth::Credentials& given = chunk.credentials;
  const bool by_token = given.kind == auth::Credentials::Kind::token;
  line.user = recognized ? error.user : given.username;
  line.eauth = recognized ? error.eauth : by_token ? "token" : given.eauth;
  line.reason = error.reason;
  write(chunk, line);
}

void AuditTrail::write_refused_login(std::string_view what, std::string_view user, std::string_view eauth,
                                     std::string_view outcome, std::string_view reason) const {
  if (may_write(outcome)) write_other(what, user, eauth, outcome, reason);
}

void AuditTrail::write_other(std::string_view what, std::string_view user, std::string_view eauth,
                             std::string_view outcome, std::string_view reason) const {
  AuditEntry line = entry(outcome);
  line.reason = reason;
  line.user = user;
  line.eauth = eauth;
  line.fun = what;
  log::audit(audit_line(line, as_json_));
}

}  // namespace rest_fcgi::netapi
