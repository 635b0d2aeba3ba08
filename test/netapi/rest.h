// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../client/admitted.h"
#include "../support/captured_log.h"
#include "../support/embedded_engine.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/netapi/rest.h"
#include "wsgi.h"

namespace rest_fcgi::test {

/// A request and the expected response. `path`, `headers` and `body` may contain placeholders. `TOKEN`,
/// `NOBODY` and `JOE` are the tokens of fred, eve and joe. `CRED` stands for fred's credentials as JSON
/// members.
struct Row {
  /// The method and the URL, for example `GET /minions?mid=ms-0`.
  std::string request;
  /// The headers in the form `Name: value | Name: value`. The default Content-Type is JSON.
  std::string headers;
  std::string body;
  int status;
  /// The expected body, if not empty. The order of JSON keys does not matter. The texts "<any>", "<jid>",
  /// "<token>", "<number>" and "<has>TEXT" match all values of their kind. If `value` is not JSON, the body
  /// must contain the text.
  std::string value;
  /// The expected headers in the form of `headers`. For `-Name`, the header must be missing.
  std::string shows{};
};

inline constexpr const char* kWith = "X-Auth-Token: TOKEN";
inline constexpr const char* kPing = R"({"client": "local", "tgt": "*", "fun": "test.ping"})";
inline constexpr const char* kPong = R"({"return": [{"ms-0": true, "ms-1": true, "ms-2": true}]})";

inline void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

inline bool matches(JsonValue expected, JsonValue found) {
  using Kind = JsonValue::Kind;
  if (expected.is(Kind::string)) {
    const std::string_view text = expected.text();
    const auto digits = [&](std::string_view allowed, std::size_t size) {
      return found.is(Kind::string) && found.text().size() == size &&
             found.text().find_first_not_of(allowed) == std::string_view::npos;
    };
    if (text == "<any>") return true;
    if (text == "<jid>") return digits("0123456789", 20);
    if (text == "<token>") return digits("0123456789abcdef", 64);
    if (text == "<number>") return found.number().has_value();
    if (text.starts_with("<has>")) return found.text().find(text.substr(5)) != std::string_view::npos;
  }
  if (expected.kind() != found.kind() || expected.size() != found.size()) return false;
  if (expected.is(Kind::array)) {
    return std::equal(expected.elements().begin(), expected.elements().end(), found.elements().begin(),
                      matches);
  }
  if (expected.is(Kind::object)) {
    for (const JsonMember member : expected.members()) {
      const auto value = found.find(member.key);
      if (!value || !matches(member.value, *value)) return false;
    }
    return true;
  }
  return expected.json() == found.json();
}

/// A REST interface that a test calls directly. The interface uses the embedded engine or a given master.
class Rest {
 public:
  template <class Options = netapi::RestCherrypyOptions>
  explicit Rest(const Options& options = {}, client::Options client = enabled())
      : Rest(std::move(client), nullptr) {
    application_ = application_with(options);
  }
  template <class Options>
  Rest(const Options& options, std::shared_ptr<FakeMaster> master)
      : Rest(quick_options(), std::move(master)) {
    application_ = application_with(options);
  }

  static client::Options enabled() {
    client::Options options;
    options.enabled.assign(std::begin(lowstate::kClients), std::end(lowstate::kClients));
    return options;
  }

  bool carries_streams = true;

  [[nodiscard]] const CapturedLog& log() const { return log_; }
  [[nodiscard]] netapi::StreamRegistry& streams() const { return *streams_; }
  [[nodiscard]] const std::shared_ptr<const client::NetapiClient>& client() const { return client_; }

  [[nodiscard]] std::string token(const std::string& user) const {
    const auto session = client_->master().login({.kind = auth::Credentials::Kind::eauth,
                                                  .eauth = "sharedsecret",
                                                  .username = user,
                                                  .password = SecretView("secret")},
                                                 client_->deadline());
    REQUIRE(session);
    return std::string(session->token.reveal().text);
  }

  [[nodiscard]] http::Response call(const Row& row) {
    http::Environ environ;
    const std::string body = filled(row.body);
    const std::string request = filled(row.request);
    const std::size_t blank = request.find(' ');
    environ.set("REQUEST_METHOD", request.substr(0, blank));
    environ.set("REQUEST_URI", request.substr(blank + 1));
    environ.set("REMOTE_ADDR", "192.0.2.7");
    environ.set("HTTP_HOST", "api.example.org");
    if (!body.empty()) environ.set("CONTENT_TYPE", "application/json");
    for (const auto& [name, value] : headers_in(filled(row.headers))) environ.set(variable(name), value);
    for (const char* const variable : {"rest_fcgi.streams", "rest_fcgi.websocket"}) {
      if (carries_streams) environ.set(variable, "1");
    }
    environ.body = std::string_view(body);
    return application_(environ);
  }

  void check(const Row& row) {
    INFO(row.request, "  ", row.headers, "  ", row.body);
    const http::Response response = call(row);
    CHECK(static_cast<int>(response.status) == row.status);
    const auto* text = std::get_if<std::string>(&response.body);
    const std::string body = text == nullptr ? std::string("a stream") : *text;
    if (!row.value.empty()) CHECK_MESSAGE(fits(row.value, body), row.value << "\n  is not\n" << body);
    for (const auto& [name, value] : headers_in(filled(row.shows))) {
      if (name.starts_with("-")) {
        CHECK(header(response, name.substr(1)) == "no " + name.substr(1));
      } else {
        CHECK(header(response, name) == value);
      }
    }
  }

  void check(const std::vector<Row>& rows) {
    for (const Row& row : rows) check(row);
  }

 private:
  Rest(client::Options client, std::shared_ptr<FakeMaster> master) {
    std::shared_ptr<master::Master> chosen = master;
    if (master == nullptr) {
      engine_ = std::make_unique<EmbeddedEngine>();
      chosen = engine_->master;
    }
    client_ = std::make_shared<const client::NetapiClient>(std::move(client), std::move(chosen));
    streams_->use(client_, {});
  }

  http::Application application_with(const netapi::RestCherrypyOptions& options) {
    return *netapi::make_rest_cherrypy(options, client_, streams_, system_clock());
  }
  http::Application application_with(const netapi::RestTornadoOptions& options) {
    return *netapi::make_rest_tornado(options, client_, streams_, system_clock());
  }

  std::string filled(std::string text) {
    for (const auto& [word, user] :
         {std::pair("TOKEN", "fred"), std::pair("NOBODY", "eve"), std::pair("JOE", "joe")}) {
      if (text.find(word) == std::string::npos) continue;
      if (!tokens_of_[user].empty()) {
        replace_all(text, word, tokens_of_[user]);
        continue;
      }
      replace_all(text, word, tokens_of_[user] = token(user));
    }
    replace_all(text, "CRED", R"("username": "fred", "password": "secret", "eauth": "sharedsecret")");
    return text;
  }

  static std::vector<std::pair<std::string, std::string>> headers_in(const std::string& text) {
    constexpr std::string_view kNext = " | ";
    std::vector<std::pair<std::string, std::string>> headers;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(kNext, at), text.size());
      const std::string one = text.substr(at, end - at);
      const std::size_t colon = std::min(one.find(": "), one.size());
      headers.emplace_back(one.substr(0, colon), one.substr(std::min(colon + 2, one.size())));
      at = std::min(end + kNext.size(), text.size());
    }
    return headers;
  }

  static std::string variable(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    static const std::vector<std::string> kOwn{"CONTENT_TYPE", "CONTENT_LENGTH", "REMOTE_ADDR",
                                               "PATH_INFO",    "SCRIPT_NAME",    "HTTPS",
                                               "QUERY_STRING", "SERVER_PROTOCOL"};
    return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end() ? name : "HTTP_" + name;
  }

  static bool fits(const std::string& expected, const std::string& found) {
    JsonDocument wanted;
    if (!wanted.parse(expected)) return found.find(expected) != std::string::npos;
    JsonDocument got;
    return got.parse(found) && matches(wanted.root(), got.root());
  }

  CapturedLog log_;
  std::unique_ptr<EmbeddedEngine> engine_;
  std::shared_ptr<const client::NetapiClient> client_;
  const std::shared_ptr<netapi::StreamRegistry> streams_ =
      std::make_shared<netapi::StreamRegistry>(system_clock());
  http::Application application_;
  std::map<std::string, std::string> tokens_of_;
};

}  // namespace rest_fcgi::test
