// SPDX-License-Identifier: MIT
#include "rest_fcgi/metrics/application.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>

#include "../support/holds.h"
#include "../support/manual_clock.h"

using namespace rest_fcgi;
using namespace rest_fcgi::metrics;
using http::Status;
using test::holds;

namespace {

http::Environ request(std::string_view path, std::string_view accept = {}, std::string_view method = "GET") {
  http::Environ environ;
  environ.set("REQUEST_METHOD", method);
  environ.set("REQUEST_URI", path);
  if (!accept.empty()) environ.set("HTTP_ACCEPT", accept);
  return environ;
}

http::Response module(const http::Environ&) {
  return {Status::ok, {}, std::string("module")};
}

std::string header(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace

TEST_CASE("the listener answers GET /metrics in the format of Accept, and refuses other requests") {
  Health health(system_clock());
  const auto application = make_application(std::make_shared<Registry>(), health);
  const auto plain = application(request("/metrics"));
  CHECK(plain.status == Status::ok);
  CHECK(header(plain, "Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  const auto open =
      application(request("/metrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"));
  CHECK(header(open, "Content-Type") == "application/openmetrics-text; version=1.0.0; charset=utf-8");
  CHECK(open.text().ends_with("# EOF\n"));

  CHECK(application(request("/")).status == Status::not_found);
  CHECK(application(request("/metrics/x")).status == Status::not_found);
  CHECK(application(request("/metrics", "", "POST")).status == Status::method_not_allowed);
}

TEST_CASE("metrics beside the modules need the rule @metrics") {
  auto status = Status::unauthorized;
  const auto application = with_metrics(
      std::make_shared<Registry>(), [&status](const http::Environ&) { return status; }, module);
  CHECK(application(request("/metrics")).status == Status::unauthorized);
  CHECK(application(request("/")).text() == "module");
  CHECK(application(request("/metrics", "", "POST")).status == Status::method_not_allowed);
  CHECK(application(request("/metrics", "", "OPTIONS")).text() == "module");
  status = Status::service_unavailable;
  CHECK(application(request("/metrics")).status == Status::service_unavailable);
  status = Status::ok;
  CHECK(header(application(request("/metrics")), "Content-Type").starts_with("text/plain; version=0.0.4"));
}

TEST_CASE("requests are counted by module, status and client") {
  Registry registry;
  RequestMetrics requests(registry);
  const auto counted = requests.counted("rest_wsgi", [&](const http::Environ& asked) {
    CHECK(holds(registry.text(Format::text), "rest_fcgi_requests_in_flight 1"));
    http::Response response{Status::ok, {}, std::string("x")};
    if (asked.get("REQUEST_URI") == "/") response.metric_label = "local";
    return response;
  });
  CHECK(counted(request("/")).text() == "x");
  static_cast<void>(counted(request("/other")));
  http::Environ waited = request("/waited");
  waited.received = std::chrono::steady_clock::now() - std::chrono::seconds(2);
  static_cast<void>(counted(waited));
  requests.count_refused("rest_wsgi", Status::service_unavailable);
  const std::string text = registry.text(Format::text);
  for (const char* line :
       {R"(rest_fcgi_requests_total{module="rest_wsgi",status="200",client="local"} 1)",
        R"(rest_fcgi_requests_total{module="rest_wsgi",status="200",client="none"} 2)",
        R"(rest_fcgi_requests_total{module="rest_wsgi",status="503",client="none"} 1)",
        R"(rest_fcgi_request_duration_seconds_bucket{client="none",le="1.0"} 1)",
        R"(rest_fcgi_request_duration_seconds_bucket{client="none",le="3.0"} 2)",
        R"(rest_fcgi_request_duration_seconds_count{client="local"} 1)", "rest_fcgi_requests_in_flight 0"}) {
    CHECK_MESSAGE(holds(text, line), line);
  }
}

TEST_CASE("ready is 503 and names the failed check while one fails") {
  test::ManualClock clock;
  Health health(clock);
  bool fails = true;
  health.add("store", [](SteadyTime) { return Result<void>(); });
  health.add("master", [&](SteadyTime) {
    return fails ? Result<void>(Error{ErrorKind::unavailable, "no \"answer\""}) : Result<void>();
  });
  const auto application = make_application(std::make_shared<Registry>(), health);
  const auto bad = application(request("/ready"));
  CHECK(bad.status == Status::service_unavailable);
  CHECK(
      bad.text() ==
      R"({"ready": false, "checks": {"store": {"ok": true}, "master": {"ok": false, "text": "no \"answer\""}}})");
  fails = false;
  // The application keeps the result of a check for one second.
  CHECK(application(request("/ready")).status == Status::service_unavailable);
  clock.advance(std::chrono::seconds(1));
  CHECK(application(request("/ready")).status == Status::ok);
  CHECK(application(request("/health")).text() == R"({"healthy": true})");
}

TEST_CASE("beside the modules, ready has no details") {
  Health health(system_clock());
  health.add("store", [](SteadyTime) { return Result<void>(Error{ErrorKind::unavailable, "secret"}); });
  const auto application = with_health(health, module);
  CHECK(application(request("/ready")).text() == R"({"ready": false})");
  CHECK(application(request("/ready")).status == Status::service_unavailable);
  CHECK(application(request("/health")).status == Status::ok);
  CHECK(application(request("/")).text() == "module");
  for (const char* path : {"/health", "/ready"}) {
    CAPTURE(path);
    for (const char* method : {"POST", "DELETE", "FROB"}) {
      const auto refused = application(request(path, "", method));
      CHECK(refused.status == Status::method_not_allowed);
      CHECK(header(refused, "Allow") == "GET, HEAD");
    }
    CHECK(application(request(path, "", "OPTIONS")).text() == "module");
  }
}

TEST_CASE("a service that stops answers health checks and refuses other requests") {
  Health health(system_clock());
  const auto beside = with_health(health, module);
  const auto alone = make_application(std::make_shared<Registry>(), health);
  CHECK(beside(request("/")).status == Status::ok);
  health.stop();
  CHECK(beside(request("/")).status == Status::service_unavailable);
  for (const http::Application* application : {&beside, &alone}) {
    const http::Response ready = (*application)(request("/ready"));
    CHECK(ready.status == Status::service_unavailable);
    CHECK(ready.text() == R"({"ready": false, "stopping": true})");
    CHECK((*application)(request("/health")).status == Status::ok);
  }
}

TEST_CASE("the summary names the failed checks") {
  CHECK(summary_of({{"store", true, ""}, {"master", true, ""}}) == "ready");
  CHECK(summary_of({{"store", false, "full"}, {"x", true, ""}, {"master", false, "down"}}) ==
        "not ready: store: full; master: down");
}

TEST_CASE("a check that was good may be late, but not twice and for longer than its patience") {
  test::ManualClock clock;
  Health health(clock, std::chrono::milliseconds(20));
  std::atomic<bool> is_slow = false;
  health.add("store", [&](SteadyTime) {
    while (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Result<void>();
  });
  const auto is_ok_after = [&](std::chrono::seconds time) {
    clock.advance(time);
    return health.checks().front().ok;
  };
  // A loaded host may not run the check in 20 ms.
  while (health.checks().front().text != "") clock.advance(std::chrono::seconds(1));
  is_slow = true;
  CHECK(is_ok_after(std::chrono::seconds(60)));  // The first late answer.
  CHECK_FALSE(is_ok_after(std::chrono::seconds(1)));
  is_slow = false;
  while (!is_ok_after(std::chrono::seconds(1))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST_CASE("a check that does not end has failed, and is not started again") {
  test::ManualClock clock;
  Health health(clock, std::chrono::milliseconds(20));
  std::atomic<int> started = 0;
  std::atomic<bool> ends = false;
  health.add("slow", [&](SteadyTime) {
    ++started;
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Result<void>();
  });
  health.add("quick", [](SteadyTime) { return Result<void>(); });
  for (int i = 0; i < 2; ++i) {
    const auto checks = health.checks();
    REQUIRE(checks.size() == 2);
    CHECK_FALSE(checks[0].ok);
    CHECK(checks[0].text == "no answer within 20 ms");
    CHECK(checks[1].ok);
    clock.advance(std::chrono::seconds(1));
  }
  CHECK(started == 1);
  ends = true;
}
