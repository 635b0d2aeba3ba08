// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <utility>

#include "master/salt/calls/reply.h"
#include "master/salt/calls/reply_envelope.h"

namespace rest_fcgi::salt {
namespace {

// Seconds since 1970: beyond all that is meant, and within what a WallTime holds.
constexpr double kLatest = 1e11;

/// Seconds since 1970, as a float or a whole number.
std::optional<WallTime> read_time(const PackedValue* field) {
  if (field == nullptr) return std::nullopt;
  double seconds = 0;
  if (field->kind == PackedValue::Kind::real) {
    seconds = field->real;
  } else if (field->kind == PackedValue::Kind::integer) {
    seconds = static_cast<double>(field->integer);
  } else {
    return std::nullopt;
  }
  if (!(seconds >= 0)) return std::nullopt;
  const std::chrono::duration<double> since_epoch(std::min(seconds, kLatest));
  return WallTime(std::chrono::duration_cast<std::chrono::microseconds>(since_epoch));
}

Result<std::vector<std::string>> read_groups(const PackedValue* field) {
  if (field == nullptr || field->kind == PackedValue::Kind::nil) return std::vector<std::string>();
  const auto names = read_texts(field->packed);
  if (!names) return unknown_reply("its 'groups' is no list of names");
  return std::vector<std::string>(names->begin(), names->end());
}

Result<Answer<auth::Grant>> read_grant(const Fields& fields) {
  const std::string_view name = fields.text("name");
  const std::string_view eauth = fields.text("eauth");
  const std::string_view token = fields.text("token");
  if (name.empty() || eauth.empty() || token.empty()) {
    return unknown_reply("it has no 'name', no 'eauth' or no 'token'");
  }
  const auto expire = read_time(fields.find("expire"));
  if (!expire) return unknown_reply("its 'expire' is no time");
  auto groups = read_groups(fields.find("groups"));
  if (!groups) return std::move(groups).error();
  return Answer<auth::Grant>{
      std::nullopt, {}, {std::string(name), std::string(eauth), *std::move(groups), Secret(token), *expire}};
}

/// `refusal`: all of what the master says where the credentials are not good.
Result<Answer<auth::Grant>> read_token_reply(std::string_view bytes, std::string_view refusal) {
  if (bytes == refusal) return Answer<auth::Grant>{Refusal::credentials, {}, {}};
  auto reply = open_reply(bytes, {"name", "eauth", "groups", "token", "expire"});
  if (!reply) return std::move(reply).error();
  if (reply->refusal) return refused_as<auth::Grant>(*std::move(reply));
  return read_grant(reply->value);
}

}  // namespace

Result<Answer<auth::Grant>> read_mk_token_reply(std::string_view bytes) {
  constexpr std::string_view kEmptyText = "\xA0";
  return read_token_reply(bytes, kEmptyText);
}

Result<Answer<auth::Grant>> read_get_token_reply(std::string_view bytes) {
  constexpr std::string_view kEmptyMap = "\x80";
  return read_token_reply(bytes, kEmptyMap);
}

}  // namespace rest_fcgi::salt
