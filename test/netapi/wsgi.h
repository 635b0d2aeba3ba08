// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../client/admitted.h"
#include "../support/captured_log.h"
#include "../support/fake_master.h"
#include "../support/manual_clock.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::test {

inline constexpr std::string_view kPingKeys = R"("client": "local", "tgt": "*", "fun": "test.ping")";

/// A rest_wsgi interface with a FakeMaster. A test calls the interface directly. The object captures the log,
/// so only one may exist at a time.
class Wsgi {
 public:
  explicit Wsgi(client::Options client = quick_options(), const netapi::Options& options = {})
      : master_(std::make_shared<FakeMaster>()),
        application_(netapi::make_rest_wsgi(
            options, std::make_shared<const client::NetapiClient>(std::move(client), master_), clock_)) {}

  [[nodiscard]] FakeMaster& master() const { return *master_; }
  [[nodiscard]] const CapturedLog& log() const { return log_; }
  [[nodiscard]] ManualClock& clock() { return clock_; }

  [[nodiscard]] http::Response call(const http::Environ& request) const { return application_(request); }

  [[nodiscard]] http::Response post(std::string_view body) const { return call(post_of(body)); }

  [[nodiscard]] http::Response run(std::string_view keys) const { return post("[" + chunk(keys) + "]"); }

  [[nodiscard]] static std::string chunk(std::string_view keys) {
    return R"({"eauth": "auto", "username": "saltdev", "password": "hunter2", )" + std::string(keys) + "}";
  }

  [[nodiscard]] static http::Environ post_of(std::string_view body) {
    http::Environ request;
    request.set("REQUEST_METHOD", "POST");
    request.set("REQUEST_URI", "/");
    request.set("CONTENT_TYPE", "application/json");
    request.set("REMOTE_ADDR", "192.0.2.7");
    request.body = body;
    return request;
  }

 private:
  CapturedLog log_;
  ManualClock clock_;
  std::shared_ptr<FakeMaster> master_;
  http::Application application_;
};

[[nodiscard]] inline std::string text_of(const http::Response& response) {
  return std::to_string(static_cast<int>(response.status)) + " " + response.text();
}

[[nodiscard]] inline std::string header(const http::Response& response, std::string_view name) {
  for (const auto& [known, value] : response.headers) {
    if (known == name) return value;
  }
  return "no " + std::string(name);
}

}  // namespace rest_fcgi::test
