// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <optional>
#include <string>

#include "master/embedded/host/users.h"
#include "master/embedded/modules/file_module.h"
#include "master/embedded/modules/file_support.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded::file_module {
namespace {

Raised no_path(const JsonValue& value) {
  return Raised::type_error(format("expected str, bytes or os.PathLike object, not {}", value.type_name()));
}

/// A name, or the number itself where there is no such user or group.
Json name_or_number(const std::optional<std::string>& name, std::int64_t number) {
  return name ? Json::string(*name) : Json::integer(number);
}

Json number_or_nothing(const std::optional<unsigned>& number) {
  return number ? Json::integer(*number) : Json::string("");
}

}  // namespace

Reply basename(const Call& call) {
  if (!call.arguments[0].is(JsonValue::Kind::string)) return no_path(call.arguments[0]);
  return Returned{Json::string(name_in_folder(call.arguments[0].text()))};
}

Reply dirname(const Call& call) {
  if (!call.arguments[0].is(JsonValue::Kind::string)) return no_path(call.arguments[0]);
  return Returned{Json::string(folder_of(call.arguments[0].text()))};
}

Reply normpath(const Call& call) {
  if (!call.arguments[0].is(JsonValue::Kind::string)) return no_path(call.arguments[0]);
  return Returned{Json::string(normalized_path(call.arguments[0].text()))};
}

Reply join(const Call& call) {
  if (call.varargs.empty()) {
    return Raised::type_error("join() missing 1 required positional argument: 'a'");
  }
  std::string path;
  for (const JsonValue& part : call.varargs) {
    if (!part.is(JsonValue::Kind::string)) return no_path(part);
    const bool starts_anew = part.text().starts_with('/') || &part == &call.varargs.front();
    if (starts_anew) {
      path = part.text();
    } else {
      path.append(path.empty() || path.ends_with('/') ? "" : "/").append(part.text());
    }
  }
  return Returned{Json::string(path)};
}

Reply pardir(const Call&) {
  return Returned{Json::string("..")};
}

Reply uid_to_user(const Call& call) {
  const auto uid = call.arguments[0].integer();
  if (!uid) return Raised::type_error(format("uid should be integer, not {}", call.arguments[0].type_name()));
  return Returned{name_or_number(user_name(static_cast<uid_t>(*uid)), *uid)};
}

Reply user_to_uid(const Call& call) {
  const JsonValue& user = call.arguments[0];
  if (user.is(JsonValue::Kind::null)) return Returned{Json::integer(::geteuid())};
  if (user.is(JsonValue::Kind::integer)) return Returned{user.json()};
  return Returned{number_or_nothing(user_id(user.python_str()))};
}

Reply gid_to_group(const Call& call) {
  const JsonValue& gid = call.arguments[0];
  const WholeNumber number = python_int(gid);
  if (const auto* whole = std::get_if<std::int64_t>(&number)) {
    return Returned{name_or_number(group_name(static_cast<gid_t>(*whole)), *whole)};
  }
  if (!gid.is(JsonValue::Kind::string)) return std::get<Raised>(number);
  const auto found = group_id(std::string(gid.text()));
  if (!found) return Returned{Json::string("")};
  return Returned{name_or_number(group_name(*found), *found)};
}

Reply group_to_gid(const Call& call) {
  const JsonValue& group = call.arguments[0];
  if (group.is(JsonValue::Kind::null)) return Returned{Json::string("")};
  if (group.is(JsonValue::Kind::integer)) return Returned{group.json()};
  return Returned{number_or_nothing(group_id(group.python_str()))};
}

}  // namespace rest_fcgi::embedded::file_module
