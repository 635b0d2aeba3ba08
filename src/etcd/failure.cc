// SPDX-License-Identifier: MIT
#include "etcd/failure.h"

#include <array>
#include <string>
#include <utility>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

constexpr long kAny = -1;
// The value of `code` for an HTTP reply that does not come from etcd's gateway.
constexpr long kNotJson = -2;

struct Row {
  long status;
  long code;              // `code` is the gRPC status code in the reply.
  std::string_view text;  // The reply's error message must contain `text`.
  ErrorKind kind;
  RetryAction action;
  bool is_outcome_known;
  std::string_view advice = "";
};

// A table of etcd's errors with the client's reaction to each. The first matching row counts.
constexpr std::array kRows{
    Row{kAny, kAny, "authentication is not enabled", ErrorKind::invocation, RetryAction::without_token, true},
    Row{kAny, kAny, "lease already exists", ErrorKind::conflict, RetryAction::none, true},
    Row{401, kAny, "", ErrorKind::authentication, RetryAction::authenticate, true},
    Row{400, 3, "user name is empty", ErrorKind::authentication, RetryAction::authenticate, true,
        "; expected a username and a password"},
    Row{400, 3, "revision of auth store is old", ErrorKind::authentication, RetryAction::authenticate, true},
    Row{400, 3, "authentication failed", ErrorKind::authentication, RetryAction::none, true},
    Row{400, kNotJson, "CommonName", ErrorKind::unavailable, RetryAction::none, true,
        "; if etcd's authentication is on, etcd's gateway accepts only client certificates without a "
        "CommonName"},
    Row{400, kNotJson, "", ErrorKind::unavailable, RetryAction::none, true},
    Row{400, kAny, "fragment", ErrorKind::invocation, RetryAction::without_fragments, true},
    Row{400, kAny, "", ErrorKind::invocation, RetryAction::none, true},
    Row{403, kAny, "", ErrorKind::authorization, RetryAction::none, true},
    Row{404, 5, "", ErrorKind::not_found, RetryAction::none, true},
    Row{404, kAny, "", ErrorKind::internal, RetryAction::other_prefix, true,
        "; expected etcd's API below /v3, /v3beta or /v3alpha"},
    Row{408, kAny, "", ErrorKind::timeout, RetryAction::next_member, false},
    Row{412, kAny, "", ErrorKind::invocation, RetryAction::none, true},
    Row{413, kAny, "", ErrorKind::invocation, RetryAction::none, true},
    Row{429, 8, "space exceeded", ErrorKind::unavailable, RetryAction::none, true,
        "; compact and defragment etcd, then disarm its alarm NOSPACE"},
    Row{429, 8, "too many requests", ErrorKind::unavailable, RetryAction::none, true},
    Row{429, kAny, "", ErrorKind::invocation, RetryAction::none, true},
    Row{500, 2, "", ErrorKind::timeout, RetryAction::next_member, false},
    Row{502, kAny, "", ErrorKind::timeout, RetryAction::next_member, false},
    Row{503, kAny, "", ErrorKind::timeout, RetryAction::next_member, false},
    Row{504, kAny, "", ErrorKind::timeout, RetryAction::next_member, false},
    Row{kAny, kAny, "", ErrorKind::internal, RetryAction::none, false},
};

bool matches(const Row& row, long status, long code, std::string_view text) {
  return (row.status == kAny || row.status == status) && (row.code == kAny || row.code == code) &&
         text.find(row.text) != std::string_view::npos;
}

Failure failure(long status, long code, std::string_view text, std::string_view url) {
  std::size_t i = 0;
  while (!matches(kRows[i], status, code, text)) ++i;
  const Row& row = kRows[i];
  const std::string said =
      text.empty() ? format("HTTP {}", status) : format("HTTP {}: {}", status, excerpt(text, kMostQuoted));
  return {{row.kind, format("etcd: {}: {}{}", url, said, row.advice)}, row.action, row.is_outcome_known};
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
  return {std::move(error), next ? RetryAction::next_member : RetryAction::none, known};
}

Failure gateway_failure(const HttpReply& reply, std::string_view url) {
  JsonDocument document;
  if (!document.parse(reply.body, JsonLimits::none())) {
    const std::string_view first_line =
        std::string_view(reply.body).substr(0, reply.body.find_first_of("\r\n"));
    return failure(reply.status, kNotJson, reply.status == 400 ? first_line : "", url);
  }
  const JsonValue root = document.root();
  // Old versions of etcd send the text of an error only in the field `error`. New versions send it in
  // `message`.
  const std::string_view message = text(root, "message");
  return failure(reply.status, number(root, "code"), message.empty() ? text(root, "error") : message, url);
}

Failure stream_failure(JsonValue error, std::string_view url) {
  return failure(number(error, "http_code"), number(error, "grpc_code"), text(error, "message"), url);
}

}  // namespace rest_fcgi::etcd
