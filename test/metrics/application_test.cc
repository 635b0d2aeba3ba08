// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/application.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

using namespace rest_fcgi;
using namespace rest_fcgi::metrics;
using http::Status;

namespace {

http::Environ request(std::string_view path, std::string_view accept = {}, std::string_view method = "GET") {
  http::Environ environ;
  environ.set("REQUEST_METHOD", method);
  environ.set("REQUEST_URI", path);
  if (!accept.empty()) environ.set("HTTP_ACCEPT", accept);
  return environ;
}

std::string header(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace

TEST_CASE("the format of the metrics is the one that Accept asks for") {
  const auto application = make_application(std::make_shared<Registry>());
  const auto plain = application(request("/metrics"));
  CHECK(plain.status == Status::ok);
  CHECK(header(plain, "Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  const auto open =
      application(request("/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
  CHECK(header(open, "Content-Type") == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK(open.text().ends_with("# EOF\n"));
}

TEST_CASE("the listener for metrics answers no other path and no other method") {
  const auto application = make_application(std::make_shared<Registry>());
  CHECK(application(request("/")).status == Status::not_found);
  CHECK(application(request("/metrics/x")).status == Status::not_found);
  CHECK(application(request("/metrics", "", "POST")).status == Status::method_not_allowed);
}

TEST_CASE("requests are counted by module, status and client") {
  Registry registry;
  RequestMetrics requests(registry);
  const auto counted = requests.counted("rest_wsgi", [&](const http::Environ& asked) {
    CHECK(registry.text(Format::text).find("rest_fcgi_requests_in_flight 1") != std::string::npos);
    http::Response response{Status::ok, {}, std::string("x")};
    if (asked.get("REQUEST_URI") == "/") response.metric_label = "local";
    return response;
  });
  CHECK(counted(request("/")).text() == "x");
  static_cast<void>(counted(request("/other")));
  const std::string text = registry.text(Format::text);
  CHECK(text.find(R"(rest_fcgi_requests_total{module="rest_wsgi",status="200",client="local"} 1)") !=
        std::string::npos);
  CHECK(text.find(R"(rest_fcgi_requests_total{module="rest_wsgi",status="200",client="none"} 1)") !=
        std::string::npos);
  CHECK(text.find(R"(rest_fcgi_request_duration_seconds_count{client="local"} 1)") != std::string::npos);
  CHECK(text.find("rest_fcgi_requests_in_flight 0") != std::string::npos);
}
