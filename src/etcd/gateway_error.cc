// SPDX-License-Identifier: MIT
#include "etcd/gateway_error.h"

#include <array>
#include <string>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

constexpr long kAny = -1;
constexpr long kNone = -2;  // of gRPC: the answer is no JSON, and did not come from where requests are judged
constexpr std::string_view kAuthIsOff = "authentication is not enabled";
constexpr std::string_view kLeaseExists = "lease already exists";

struct Row {
  long status;
  long code;              // of gRPC
  std::string_view text;  // that the message contains
  ErrorKind kind;
  Remedy remedy;
  bool outcome_known;
  std::string_view advice = "";
};

// The first row that fits counts. Status and code say most; the text only what they leave open.
constexpr std::array kRows{
    Row{401, kAny, "", ErrorKind::authentication, Remedy::authenticate, true},
    Row{400, 3, "user name is empty", ErrorKind::authentication, Remedy::authenticate, true,
        "; the cluster asks for a username and a password"},
    Row{400, 3, "revision of auth store is old", ErrorKind::authentication, Remedy::authenticate, true},
    Row{400, 3, "authentication failed", ErrorKind::authentication, Remedy::none, true},
    Row{400, kNone, "CommonName", ErrorKind::unavailable, Remedy::none, true,
        "; where users have passwords, the gateway takes only client certificates without a CommonName"},
    Row{400, kNone, "", ErrorKind::unavailable, Remedy::none, true},
    Row{400, kAny, "", ErrorKind::invocation, Remedy::none, true},
    Row{403, kAny, "", ErrorKind::authorization, Remedy::none, true},
    Row{404, 5, "", ErrorKind::not_found, Remedy::none, true},
    Row{404, kAny, "", ErrorKind::internal, Remedy::other_prefix, true,
        "; neither /v3 nor /v3beta nor /v3alpha of an etcd is there"},
    Row{408, kAny, "", ErrorKind::timeout, Remedy::next_member, false},
    Row{412, kAny, "", ErrorKind::invocation, Remedy::none, true},
    Row{429, 8, "space exceeded", ErrorKind::unavailable, Remedy::none, true,
        "; it takes no writes until it is compacted, defragmented, and its alarm NOSPACE disarmed"},
    Row{429, 8, "too many requests", ErrorKind::unavailable, Remedy::none, true},
    Row{429, kAny, "", ErrorKind::invocation, Remedy::none, true},
    Row{500, 2, "", ErrorKind::timeout, Remedy::next_member, false},
    Row{502, kAny, "", ErrorKind::timeout, Remedy::next_member, false},
    Row{503, kAny, "", ErrorKind::timeout, Remedy::next_member, false},
    Row{504, kAny, "", ErrorKind::timeout, Remedy::next_member, false},
    Row{kAny, kAny, "", ErrorKind::internal, Remedy::none, false},
};

bool fits(const Row& row, long status, long code, std::string_view text) {
  return (row.status == kAny || row.status == status) && (row.code == kAny || row.code == code) &&
         text.find(row.text) != std::string_view::npos;
}

Failure failure(long status, long code, std::string_view text, std::string_view url) {
  std::size_t i = 0;
  while (!fits(kRows[i], status, code, text)) ++i;
  const Row& row = kRows[i];
  const std::string said =
      text.empty() ? format("HTTP {}", status) : format("HTTP {}: {}", status, excerpt(text, kMostOfText));
  return {{row.kind, format("etcd: {}: {}{}", url, said, row.advice)}, row.remedy, row.outcome_known};
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

long number(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = object.find(name);
  return value ? value->integer().value_or(kAny) : kAny;
}

std::string_view text(JsonValue object, std::string_view name) {
  const std::optional<JsonValue> value = object.find(name);
  return value && value->is(JsonValue::Kind::string) ? value->text() : std::string_view();
}

}  // namespace

Failure transport_failure(Error error) {
  const bool next = error.kind == ErrorKind::unavailable || error.kind == ErrorKind::timeout;
  const bool known = error.kind == ErrorKind::unavailable || error.kind == ErrorKind::configuration;
  error.message.insert(0, "etcd: ");
  return {std::move(error), next ? Remedy::next_member : Remedy::none, known};
}

Failure gateway_failure(const HttpReply& reply, std::string_view url) {
  JsonDocument document;
  if (!document.parse(reply.body, JsonLimits::none())) {
    // What other statuses say by themselves, pages of proxies only repeat.
    return failure(reply.status, kNone, reply.status == 400 ? first_line(reply.body) : "", url);
  }
  const JsonValue root = document.root();
  // Newer servers have `message` alone, the oldest `error`.
  const std::string_view message = text(root, "message");
  return failure(reply.status, number(root, "code"), message.empty() ? text(root, "error") : message, url);
}

Failure stream_failure(JsonValue error, std::string_view url) {
  return failure(number(error, "http_code"), number(error, "grpc_code"), text(error, "message"), url);
}

bool says_auth_is_off(const Failure& failure) {
  return failure.error.message.find(kAuthIsOff) != std::string::npos;
}

bool says_lease_exists(const Error& error) {
  return error.message.find(kLeaseExists) != std::string::npos;
}

}  // namespace rest_fcgi::etcd
