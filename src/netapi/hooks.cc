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

/// Headers with credentials. The event omits these headers, because other users can read events.
constexpr std::array<std::string_view, 4> kSecret{"HTTP_X_AUTH_TOKEN", "HTTP_COOKIE", "HTTP_AUTHORIZATION",
                                                  "HTTP_PROXY_AUTHORIZATION"};

/// Returns the usual spelling of a header, such as `X-Github-Event` for `X_GITHUB_EVENT`.
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

/// Reads a text that is not UTF-8 as Latin-1, as WSGI does (PEP 3333).
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

}  // namespace

Json hook_headers(const http::Environ& environ) {
  constexpr std::string_view kPrefix = "HTTP_";
  std::string json;
  JsonWriter writer(json);
  writer.begin_object().key("Remote-Addr").string(environ.get("REMOTE_ADDR"));
  for (const std::string_view name : {"CONTENT_TYPE", "CONTENT_LENGTH"}) {
    if (const auto value = environ.get(name); !value.empty()) writer.key(header_name(name)).string(value);
  }
  for (const auto& [name, value] : environ.all()) {
    const bool is_secret = std::find(kSecret.begin(), kSecret.end(), name) != kSecret.end();
    const bool is_shadowed = environ.get(name).data() != value.data();
    // Skips these three headers of the client, because the event has the connection's values under these
    // names.
    const bool is_ours =
        name == "HTTP_REMOTE_ADDR" || name == "HTTP_CONTENT_TYPE" || name == "HTTP_CONTENT_LENGTH";
    if (!name.starts_with(kPrefix) || is_secret || is_shadowed || is_ours) continue;
    writer.key(header_name(name.substr(kPrefix.size()))).string(value);
  }
  writer.end_object();
  return Json::trusted(std::move(json));
}

Response fire_hook(RequestContext& context, std::string tag, const Json& data) {
  const master::Session* const caller = context.session ? &*context.session : nullptr;
  const std::string_view user = context.session ? std::string_view(context.session->user) : "";
  const std::string_view eauth = context.session ? std::string_view(context.session->eauth) : "";
  auto begun = context.keyed.begin("hook", user, eauth, context.trail);
  if (!begun) return fail(context, begun.error());
  if (begun->has_value()) return **std::move(begun);
  const auto fired =
      context.app.client->master().fire_event(in_utf8(std::move(tag)), data, caller, context.deadline);
  context.trail.write_other("hook", user, eauth, fired ? "ok" : row_for(fired.error().kind).outcome);
  if (!fired && surely_did_not_run(fired.error())) context.keyed.release();
  if (!fired) return fail(context, fired.error());
  return reply(context, Status::ok, R"({"success": true})");
}

}  // namespace rest_fcgi::netapi
