// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "netapi/audit.h"
#include "rest_fcgi/core/json_document.h"

using namespace rest_fcgi;
using netapi::audit_line;
using netapi::AuditEntry;

namespace {

AuditEntry entry() {
  AuditEntry entry;
  entry.time = WallTime(std::chrono::microseconds(1795216037380290));
  entry.user = "saltdev";
  entry.eauth = "pam";
  entry.remote = "127.0.0.1";
  entry.client = "local";
  entry.fun = "test.ping";
  entry.tgt = "ms-*";
  entry.jid = "20261120230717380290";
  entry.outcome = "ok";
  entry.took = std::chrono::microseconds(12345);
  return entry;
}

std::string text_with_user(std::string_view user) {
  AuditEntry line = entry();
  line.user = user;
  const std::string text = audit_line(line, false);
  const std::size_t start = text.find("user=") + 5;
  return text.substr(start, text.find(" eauth=") - start);
}

}  // namespace

TEST_CASE("an audit line has the form key=value") {
  CHECK(
      audit_line(entry(), false) ==
      "time=2026-11-20T23:07:17.380Z user=saltdev eauth=pam remote_addr=127.0.0.1 client=local fun=test.ping "
      "tgt=ms-* jid=20261120230717380290 outcome=ok ms=12.345");
}

TEST_CASE("an audit line can be a JSON object") {
  CHECK(
      audit_line(entry(), true) ==
      R"({"time": "2026-11-20T23:07:17.380Z", "user": "saltdev", "eauth": "pam", "remote_addr": "127.0.0.1", )"
      R"("client": "local", "fun": "test.ping", "tgt": "ms-*", "jid": "20261120230717380290", "outcome": "ok", )"
      R"("ms": 12.345})");
}

TEST_CASE("a missing value is a dash, or an empty string in JSON") {
  AuditEntry line;
  line.outcome = "invalid";
  CHECK(
      audit_line(line, false) ==
      "time=1970-01-01T00:00:00.000Z user=- eauth=- remote_addr=- client=- fun=- tgt=- jid=- outcome=invalid "
      "ms=0.000");
  CHECK(audit_line(line, true).find(R"("user": "", )") != std::string::npos);
}

TEST_CASE("special characters in an audit line are quoted") {
  CHECK(text_with_user("a b") == R"("a b")");
  CHECK(text_with_user("a\" outcome=ok") == R"("a\" outcome=ok")");
  CHECK(text_with_user("a\nb") == R"("a\nb")");
  CHECK(text_with_user("a=b") == R"("a=b")");
  CHECK(text_with_user("a\\b") == R"("a\\b")");
  CHECK(text_with_user("-") == R"("-")");
  CHECK(text_with_user("\xC3\xA4") == "\"\xC3\xA4\"");
}

TEST_CASE("a value of an audit line is cut at 256 bytes") {
  CHECK(text_with_user(std::string(256, 'x')) == std::string(256, 'x'));
  CHECK(text_with_user(std::string(257, 'x')) == std::string(256, 'x') + "...");
  const std::string umlaut = "\xC3\xA4";
  CHECK(text_with_user(std::string(255, 'x') + umlaut) == "\"" + std::string(255, 'x') + "...\"");
}
