// SPDX-License-Identifier: MIT
#include "master/salt/calls/reply_envelope.h"

#include <array>
#include <utility>
#include <vector>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kMaxSaid = 1000;
constexpr std::string_view kEmptyMap = "\x80";

/// Of a token that is not good the message names nobody.
Refusal of_token(std::string_view message) {
  return message.find(" for user ") == std::string_view::npos ? Refusal::credentials : Refusal::rights;
}

std::optional<Refusal> refusal_of(std::string_view name, std::string_view message) {
  if (name == "AuthorizationError") return Refusal::rights;
  if (name == "TokenAuthenticationError") return of_token(message);
  const bool is_login = name == "AuthenticationError" || name == "EauthAuthenticationError" ||
                        name == "UserAuthenticationError";
  return is_login ? std::optional(Refusal::credentials) : std::nullopt;
}

/// An exception of Salt's, as a map of its name and message.
Result<Answer<Fields>> raised(const PackedValue& error) {
  const auto fields = Fields::read(error.packed, {"name", "message"});
  if (!fields) return fields.error();
  const std::string_view name = fields->text("name");
  const std::string_view message = fields->text("message");
  if (const auto refusal = refusal_of(name, message)) {
    return Answer<Fields>{refusal, excerpt(message, kMaxSaid), {}};
  }
  if (name == "SaltInvocationError") return Error{ErrorKind::invocation, excerpt(message, kMaxSaid)};
  return said(format("{}: {}", name, message));
}

}  // namespace

Error unknown_reply(std::string_view what) {
  return {ErrorKind::internal, format("The Salt master's answer is not understood: {}.", what)};
}

Error said(std::string_view text) {
  return {ErrorKind::internal, format("The Salt master answered \"{}\".", excerpt(text, kMaxSaid))};
}

Result<Answer<Fields>> open_reply(std::string_view bytes, std::initializer_list<std::string_view> wanted) {
  const auto reply = PackedValue::read(bytes);
  if (!reply) return unknown_reply(reply.error().message);
  if (reply->kind == PackedValue::Kind::text) return said(reply->text);
  if (reply->kind != PackedValue::Kind::map) return unknown_reply(format("it is {}", type_name(reply->kind)));
  if (bytes == kEmptyMap) return unknown_reply("it is an empty map, as for a command that no master knows");
  std::vector<std::string_view> names(wanted);
  names.insert(names.end(), {"error", "msg"});
  auto fields = Fields::read(bytes, names);
  if (!fields) return std::move(fields).error();
  if (const auto* error = fields->find("error")) {
    if (error->kind == PackedValue::Kind::map) return raised(*error);
    return error->kind == PackedValue::Kind::text
               ? said(error->text)
               : unknown_reply(format("its 'error' is {}", type_name(error->kind)));
  }
  if (const std::string_view message = fields->text("msg"); !message.empty()) return said(message);
  return Answer<Fields>{std::nullopt, {}, *std::move(fields)};
}

}  // namespace rest_fcgi::salt
