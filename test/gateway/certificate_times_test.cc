// SPDX-License-Identifier: MIT
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "../support/certificates.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/gateway/certificates.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using std::chrono::hours;

TEST_CASE("check_certificate_times accepts a certificate only between notBefore and notAfter") {
  const test::TempDir dir;
  const test::Certificates files = test::make_certificates(dir.path().string());
  Options options;
  options.http.resize(2);
  options.http[1].name = "rest_cherrypy";
  options.http[1].ssl_crt = files.server_cert;
  const WallTime now = system_clock().wall();
  const auto times = certificate_times(options);
  REQUIRE(times);
  REQUIRE(times->size() == 1);
  CHECK(times->front().name == "rest_cherrypy");
  CHECK(times->front().until - now > hours(47));
  CHECK(times->front().until - now <= hours(48));
  CHECK(check_certificate_times(options, now + hours(1)));
  CHECK(check_certificate_times(options, now + hours(49)).error().message ==
        "rest_cherrypy: ssl_crt: the certificate has expired");
  CHECK(check_certificate_times(options, now - hours(1)).error().message ==
        "rest_cherrypy: ssl_crt: the certificate is not valid yet");
  options.http[1].ssl_crt = "/nosuch.pem";
  CHECK(check_certificate_times(options, now).error().message.find("/nosuch.pem") != std::string::npos);
}
