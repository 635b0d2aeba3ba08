// SPDX-License-Identifier: MIT
#include "rest_fcgi/netapi/refusals.h"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "wsgi.h"

namespace rest_fcgi::test {
namespace {

constexpr std::string_view kBadToken =
    R"({"token": "bad", "client": "local", "tgt": "*", "fun": "test.ping"})";

TEST_CASE(
    "refused requests of one address have ten lines and then one line together, and a good call has its "
    "line") {
  netapi::Options options;
  options.refusals = std::make_shared<netapi::Refusals>();
  Wsgi wsgi(quick_options(), options);
  wsgi.master().on_admit = [](const lowstate::Chunk& chunk) -> std::optional<Error> {
    if (chunk.credentials.kind == auth::Credentials::Kind::eauth) return std::nullopt;
    return Error{ErrorKind::authentication, "no"};
  };
  for (int i = 0; i < 60; ++i) CHECK(wsgi.post(kBadToken).status == http::Status::unauthorized);
  for (int i = 0; i < 5; ++i) CHECK(wsgi.post("[").status == http::Status::bad_request);
  CHECK(wsgi.run(kPingKeys).status == http::Status::ok);
  CHECK(wsgi.log().count(" outcome=denied ") == 10);
  CHECK(wsgi.log().count(" outcome=invalid ") == 0);
  CHECK(wsgi.log().count(" outcome=ok ") == 1);
  options.refusals->write_sums(wsgi.clock());
  CHECK(wsgi.log().has(" remote_addr=192.0.2.7 "));
  CHECK(wsgi.log().has(" outcome=refused reason=\"denied: 50, invalid: 5\" count=55 ms=0.000\n"));
  options.refusals->write_sums(wsgi.clock());
  CHECK(wsgi.log().count(" outcome=refused ") == 1);
  CHECK(wsgi.post(kBadToken).status == http::Status::unauthorized);
  CHECK(wsgi.log().count(" outcome=denied ") == 11);
}

TEST_CASE("a refused call with a valid login has its own line") {
  netapi::Options options;
  options.refusals = std::make_shared<netapi::Refusals>();
  const Wsgi wsgi(quick_options(), options);
  wsgi.master().on_admit = [](const lowstate::Chunk&) {
    Error error{ErrorKind::authorization, "no"};
    error.user = "ann";
    return error;
  };
  for (int i = 0; i < 20; ++i) CHECK(wsgi.run(kPingKeys).status == http::Status::unauthorized);
  CHECK(wsgi.log().count(" user=ann ") == 20);
}

TEST_CASE("an IPv6 network of 64 bits is one address, and the number of addresses is bounded") {
  const CapturedLog log;
  const ManualClock clock;
  netapi::Refusals refusals;
  int lines = 0;
  for (int i = 1; i <= 30; ++i)
    lines += refusals.count("2001:db8:1:2::" + std::to_string(i), "denied", true) ? 1 : 0;
  CHECK(lines == 10);
  for (int i = 0; i < 5000; ++i) {
    const std::string address = "10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250);
    lines += refusals.count(address, "throttled", false) ? 1 : 0;
  }
  CHECK(lines < 1100);
  refusals.write_sums(clock);
  CHECK(log.has(R"("remote_addr": "2001:db8:1:2::1/64")"));
  CHECK(log.has(R"("reason": "denied: 20")"));
  CHECK(log.has("remote_addr=* "));
  CHECK(log.count("refused") == 2);
}

}  // namespace
}  // namespace rest_fcgi::test
