// SPDX-License-Identifier: MIT
#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "../client/admitted.h"
#include "../support/temp_dir.h"
#include "netapi/request.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/lowstate/lowstate.h"
#include "rest_fcgi/netapi/rest.h"
#include "targets.h"

namespace rest_fcgi::fuzz {
namespace {

constexpr std::string_view kSecret = "what nobody may read";

/// Makes a folder of static files with a symbolic link to a secret file outside the folder.
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

constexpr lowstate::Options kLimits = {.json = {}, .max_chunks = 3};

/// Collects the passwords in a chunk, except short passwords and passwords that occur twice in the body.
void collect_passwords(JsonValue chunk, std::string_view all, std::vector<std::string_view>& found) {
  constexpr std::size_t kLeast = 6;
  if (!chunk.is(JsonValue::Kind::object)) return;
  for (const auto& [key, value] : chunk.members()) {
    if (key != "password" || !value.is(JsonValue::Kind::string)) continue;
    const std::string_view text = value.text();
    const std::size_t at = all.find(text);
    const bool is_alone = at != std::string_view::npos && all.find(text, at + 1) == std::string_view::npos;
    if (text.size() >= kLeast && is_alone) found.push_back(text);
  }
}

void read_chunks(JsonValue body) {
  const std::string all(body.json().text());
  std::vector<std::string_view> passwords;
  collect_passwords(body, all, passwords);
  if (body.is(JsonValue::Kind::array)) {
    for (const JsonValue chunk : body.elements()) collect_passwords(chunk, all, passwords);
  }
  const std::array<lowstate::ReadOptions, 3> readings = {
      lowstate::ReadOptions{},
      {.client = lowstate::Client::local, .has_credentials = true},
      {.has_expr_form = true}};
  for (const lowstate::ReadOptions& reading : readings) {
    const auto chunks = lowstate::read(body, kLimits, reading);
    const auto again = lowstate::read(body, kLimits, reading);
    require(chunks.ok() == again.ok(), "a body is read in two ways");
    if (chunks) {
      require(chunks->size() <= kLimits.max_chunks, "there are more chunks than there may be");
      for (const lowstate::Chunk& chunk : *chunks) {
        if (!chunk.is_local()) continue;
        require_json(lowstate::published_functions(chunk.local()).text());
        require_json(lowstate::published_arguments(chunk.local()).text());
      }
      continue;
    }
    require_sentence(chunks.error());
    require(is_utf8(chunks.error().message), "an error cuts a character in two");
    for (const std::string_view password : passwords) {
      require(chunks.error().message.find(password) == std::string::npos, "an error shows a password");
    }
  }
}

}  // namespace

void body(std::string_view input) {
  http::Environ environ;
  const std::string_view type = next_line(input);
  environ.set("CONTENT_TYPE", type);
  environ.body = input;
  for (const bool typed : {true, false}) {
    netapi::BodyRules rules{{}, 100'000};
    rules.typed_forms = typed;
    JsonDocument document;
    const auto read = netapi::read_body(environ, rules, document);
    if (!read) {
      require_sentence(read.error());
      continue;
    }
    require(!read->media || !lower(type).starts_with("multipart/"), "a body in parts is read");
    require_json(read->value.json().text());
    read_chunks(read->value);
  }
}

namespace {

std::string whole_body(const http::Response& response) {
  const auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body);
  if (stream == nullptr) return response.text();
  std::string text;
  for (auto part = (*stream)->next(); part && !part->empty(); part = (*stream)->next()) text += *part;
  return text;
}

void require_form(const http::Response& response, std::string_view sent) {
  std::string_view type;
  for (const auto& [name, value] : response.headers) {
    require(name.find_first_of("\r\n:") == std::string::npos, "a header's name is none");
    require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos, "a header has lines");
    if (name == "Content-Encoding") return;
    if (name == "Content-Type") type = value;
  }
  if (type == "application/json" && !sent.empty()) require_json(sent);
  if (!type.starts_with("application/x-tar")) require(is_utf8(sent), "what is sent is no UTF-8");
}

}  // namespace

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
  const auto streams = std::make_shared<netapi::StreamRegistry>(system_clock());
  streams->use(client, {});
  const auto served = *netapi::make_rest_cherrypy(options, client, streams, system_clock());
  const auto mounted = netapi::mount({{"/", served}, {"/api", served}});

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
  const std::string sent = whole_body(response);
  require_form(response, sent);
  const bool shown = sent.find(kSecret) != std::string::npos;
  require(!shown || text.find(kSecret) != std::string::npos, "a file is read that must not be");
}

}  // namespace rest_fcgi::fuzz
