// SPDX-License-Identifier: MIT
#include "targets.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../client/admitted.h"
#include "../support/temp_dir.h"
#include "../support/whole_body.h"
#include "gateway/http/reader.h"
#include "gateway/streams/websocket.h"
#include "netapi/request.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/netapi/mount.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::fuzz {
namespace {

using Stage = gateway::RequestReader::Stage;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

constexpr std::size_t kMaxHead = 4000;  // which readers keep to within one `take`

/// All requests that are in `bytes`, where they come `step` at a time.
std::vector<std::string> requests_in(std::string_view bytes, std::size_t step) {
  gateway::RequestReader reader({.max_head_size = kMaxHead, .max_body_size = 1000});
  std::vector<std::string> found;
  while (!bytes.empty()) {
    bytes.remove_prefix(reader.take(bytes.substr(0, step)));
    if (reader.stage() == Stage::refused) break;
    if (reader.stage() != Stage::complete) continue;
    std::string text(*reader.environ().body);
    require(text.size() <= 1000, "a body is larger than it may be");
    for (const auto& [name, value] : reader.environ().all()) {
      require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
              "a variable has a line feed");
      text.append("\n").append(name).append("=").append(value);
    }
    found.push_back(std::move(text));
    reader.reset();
  }
  return found;
}

/// All messages that are in `bytes`, where they come `step` at a time.
std::vector<std::string> messages_in(std::string_view bytes, std::size_t step) {
  using Kind = gateway::WebSocketReader::Message::Kind;
  gateway::WebSocketReader reader;
  std::vector<std::string> found;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    for (auto message = reader.next(part); message.kind != Kind::none; message = reader.next(part)) {
      require(message.kind != Kind::text || is_utf8(message.payload), "a text is no UTF-8");
      found.push_back(std::to_string(static_cast<int>(message.kind)) + " " + std::to_string(message.code));
      found.back().append(" ").append(message.payload);
      if (message.kind == Kind::broken) return found;
    }
    require(part.empty(), "bytes are left");
  }
  return found;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  return {line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))};
}

constexpr std::string_view kSecret = "what nobody may read";

/// What files are served from, and a file beside it.
const std::string& folder() {
  static const test::TempDir dir;
  static const std::string root = [] {
    std::filesystem::create_directories(dir.path() / "root/sub");
    std::ofstream(dir.path() / "root/sub/page.html") << "<p>page</p>";
    std::ofstream(dir.path() / "secret") << kSecret;
    std::filesystem::create_symlink("../secret", dir.path() / "root/link");
    return (dir.path() / "root").string();
  }();
  return root;
}

}  // namespace

void http(std::string_view input) {
  const auto whole = requests_in(input, input.size());
  const auto parts = requests_in(input, 1 + input.size() % 7);
  require(whole == parts || input.size() > kMaxHead, "it matters in which parts requests come");
}

void websocket(std::string_view input) {
  const auto whole = messages_in(input, input.size());
  require(whole == messages_in(input, 1 + input.size() % 7), "it matters in which parts frames come");
}

void body(std::string_view input) {
  http::Environ environ;
  environ.set("CONTENT_TYPE", next_line(input));
  environ.body = input;
  for (const bool typed : {true, false}) {
    netapi::BodyRules rules{{}, 100'000};
    rules.typed_forms = typed;
    JsonDocument document;
    const auto read = netapi::read_body(environ, rules, document);
    if (!read) continue;
    JsonDocument again;
    require(static_cast<bool>(again.parse(read->value.json().text(), JsonLimits::none())),
            "what was read is no JSON");
  }
}

void application(std::string_view input) {
  auto master = std::make_shared<test::FakeMaster>();
  const auto session = master->login({.kind = auth::Credentials::Kind::eauth,
                                      .eauth = "auto",
                                      .username = "saltdev",
                                      .password = SecretView("x")},
                                     SteadyTime::max());
  std::string text(input);
  if (const std::size_t at = text.find("TOKEN"); at != std::string::npos)
    text.replace(at, 5, session->token.reveal().text);
  netapi::RestCherrypyOptions options;
  options.static_root = folder();
  const auto client = std::make_shared<const client::NetapiClient>(test::quick_options(), master);
  const auto streams = std::make_shared<netapi::Streams>(system_clock());
  streams->use(client, {});
  const auto served = *netapi::make_rest_cherrypy(options, client, streams, system_clock());
  const auto mounted = netapi::mounted({{"/", served}, {"/api", served}});

  std::string_view rest = text;
  http::Environ environ;
  const auto [method, target] = split(next_line(rest));
  environ.set("REQUEST_METHOD", method);
  environ.set("REQUEST_URI", target);
  environ.set("REMOTE_ADDR", "192.0.2.7");
  for (std::string_view line = next_line(rest); !line.empty(); line = next_line(rest)) {
    const auto [name, value] = split(line);
    environ.set(name, value);
  }
  environ.body = rest;
  http::Response response = mounted(environ);
  require(response.status != http::Status::internal_server_error, "a request is answered with 500");
  const bool shown = test::whole_body(response).find(kSecret) != std::string::npos;
  require(!shown || text.find(kSecret) != std::string::npos, "a file is read that must not be");
}

}  // namespace rest_fcgi::fuzz
