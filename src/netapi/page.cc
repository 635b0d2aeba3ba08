// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::netapi {
namespace {

/// The page for browsers if the option `app` is not set. The server writes the user's name into the page,
/// because the page's script cannot read the session cookie.
constexpr std::string_view kPage[] = {
#include "netapi/page.h"  // The build makes this C++ header from the files in deploy/page/.
};

constexpr std::chrono::seconds kSessionTimeout{2};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

http::Response home_page(RequestContext& context) {
  std::random_device dice;
  std::string nonce;
  for (int i = 0; i < 4; ++i) nonce += format("{:08x}", static_cast<std::uint32_t>(dice()));
  std::string html;
  for (const std::string_view part : kPage) html += part;
  replace_all(html, "@NONCE@", nonce);
  replace_all(html, "@SESSIONS@", context.app.options.enable_sessions ? "on" : "off");
  replace_all(html, "@STATUS@", context.app.client->master().lists_job_status() ? "listed" : "");
  const Json eauths =
      written_json([&](JsonWriter& writer) { write_strings(writer, context.app.options.common.eauths); });
  replace_all(html, "@EAUTHS@", escaped(eauths.text()));
  // The deadline is short: if the master does not answer, the page soon asks for a login.
  context.deadline = std::min(context.deadline, context.app.clock.steady() + kSessionTimeout);
  // Does not check the origin of the request, because a page of another origin cannot read the HTML page.
  const auto session = session_of_any_origin(context);
  replace_all(html, "@USER@", session ? escaped(session->user) : std::string());
  replace_all(html, "@PERMS@", session ? escaped(session->perms.text()) : "{}");
  http::Response response = page_reply(http::Status::ok, std::move(html), nonce);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace rest_fcgi::netapi
