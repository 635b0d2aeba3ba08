// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "netapi/handlers.h"
#include "rest_fcgi/core/excerpt.h"

namespace rest_fcgi::netapi {
namespace {

using http::Response;
using http::Status;

/// Headers that let somebody in. Whoever reads events could take them over.
constexpr std::array<std::string_view, 4> kSecret{"HTTP_X_AUTH_TOKEN", "HTTP_COOKIE", "HTTP_AUTHORIZATION",
                                                  "HTTP_PROXY_AUTHORIZATION"};

/// `X_GITHUB_EVENT` as the header was called: `X-Github-Event`.
std::string header_name(std::string_view variable) {
  std::string name(variable);
  bool starts = true;
  for (char& c : name) {
    if (c == '_') {
      c = '-';
    } else if (!starts && c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
    starts = c == '-';
  }
  return name;
}

void write_headers(JsonWriter& writer, const http::Environ& environ) {
  constexpr std::string_view kPrefix = "HTTP_";
  writer.begin_object().key("Remote-Addr").string(environ.get("REMOTE_ADDR"));
  for (const std::string_view name : {"CONTENT_TYPE", "CONTENT_LENGTH"}) {
    if (const auto value = environ.get(name); !value.empty()) writer.key(header_name(name)).string(value);
  }
  for (const auto& [name, value] : environ.all()) {
    const bool is_secret = std::find(kSecret.begin(), kSecret.end(), name) != kSecret.end();
    const bool is_shadowed = environ.get(name).data() != value.data();
    // What is said of the connection is not for a client to say.
    const bool is_ours =
        name == "HTTP_REMOTE_ADDR" || name == "HTTP_CONTENT_TYPE" || name == "HTTP_CONTENT_LENGTH";
    if (!name.starts_with(kPrefix) || is_secret || is_shadowed || is_ours) continue;
    writer.key(header_name(name.substr(kPrefix.size()))).string(value);
  }
  writer.end_object();
}

/// Bytes that are no UTF-8 are taken for Latin-1, as WSGI has them (PEP 3333).
std::string in_utf8(std::string text) {
  if (is_utf8(text)) return text;
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) out += static_cast<char>(0xC0 | (byte >> 6));
    out += static_cast<char>(byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte);
  }
  return out;
}

std::string tag_of(const Exchange& exchange) {
  // rest_tornado takes the path as it is, with a slash at its end.
  if (!exchange.app.dialect.hooks_have_body) return in_utf8("salt/netapi" + exchange.target.path);
  std::string tag = "salt/netapi/hook";
  for (const std::string& part : exchange.below) tag.append("/").append(part);
  return in_utf8(std::move(tag));
}

Json event_of(const Exchange& exchange) {
  const bool has_body = exchange.app.dialect.hooks_have_body;
  const JsonValue post = exchange.body.value;
  std::string json;
  JsonWriter writer(json);
  writer.begin_object();
  if (has_body) writer.key("body").string(*exchange.environ.body);
  writer.key("post");
  if (has_body && post.is(JsonValue::Kind::null)) {
    writer.raw("{}");
  } else {
    post.write(writer);
  }
  writer.key(has_body ? "query" : "get").json(query_json(exchange.target)).key("headers");
  write_headers(writer, exchange.environ);
  writer.end_object();
  return Json::trusted(std::move(json));
}

}  // namespace

Response fire_hook(Exchange& exchange) {
  const master::Session* const caller = exchange.session ? &*exchange.session : nullptr;
  const auto fired = exchange.app.client->master().fire_event(tag_of(exchange), event_of(exchange), caller,
                                                              exchange.deadline);
  const std::string_view user = exchange.session ? std::string_view(exchange.session->user) : "";
  const std::string_view eauth = exchange.session ? std::string_view(exchange.session->eauth) : "";
  exchange.trail.write_other("hook", user, eauth, fired ? "ok" : row_for(fired.error().kind).outcome);
  if (!fired) return fail(exchange, fired.error());
  return reply(exchange, Status::ok, R"({"success": true})");
}

}  // namespace rest_fcgi::netapi
