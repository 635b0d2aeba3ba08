// SPDX-License-Identifier: MIT
#include "netapi/audit.h"

#include <doctest/doctest.h>

#include "rest_fcgi/core/json_document.h"
#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using netapi::audit_line;
using netapi::AuditEntry;

namespace {

std::string audit_of(const Wsgi& wsgi) {
  const std::string start = "time=2023-11-14T22:13:20.000Z ";
  std::string lines;
  std::istringstream log(wsgi.log().text());
  for (std::string line; std::getline(log, line);) {
    if (line.substr(0, 5) != "time=") continue;
    CHECK(line.substr(0, start.size()) == start);
    lines += line.substr(start.size()) + "\n";
  }
  return lines;
}

std::string denied(const std::string& eauth, const std::string& user, const std::string& outcome) {
  return "user=" + user + " eauth=" + eauth +
         " remote_addr=192.0.2.7 client=local fun=test.ping tgt=* jid=- outcome=" + outcome + " ms=0.000\n";
}

}  // namespace

TEST_CASE("each chunk has an audit line with its jid and its duration, and a malformed body has one") {
  Wsgi wsgi;
  wsgi.master().on_start = [&wsgi](const std::string& what) -> std::optional<Error> {
    wsgi.clock().advance(std::chrono::milliseconds(what == "runner" ? 5 : 7));
    return std::nullopt;
  };
  CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                  Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]")
            .status == http::Status::ok);
  const std::string who = "user=saltdev eauth=auto remote_addr=192.0.2.7 ";
  CHECK(
      wsgi.log().has(who + "client=local fun=test.ping tgt=* jid=" + fake_jid(1) + " outcome=ok ms=7.000\n"));
  CHECK(wsgi.log().has(who + "client=runner fun=manage.up tgt=- jid=" + fake_jid(2) +
                       " outcome=ok ms=5.000\n"));
  CHECK(wsgi.log().count(" outcome=") == 2);
  CHECK(wsgi.post("[").status == http::Status::bad_request);
  CHECK(wsgi.log().has(
      "user=- eauth=- remote_addr=192.0.2.7 client=- fun=- tgt=- jid=- outcome=invalid ms=0.000\n"));
  CHECK(wsgi.log().count(" outcome=") == 3);
}

TEST_CASE("the outcome is sent while the master has not confirmed permission") {
  const Wsgi wsgi;
  const char* const call = R"("client": "wheel_async", "fun": "key.list_all")";
  CHECK(wsgi.run(call).status == http::Status::ok);
  CHECK(wsgi.log().has("fun=key.list_all tgt=- jid=" + fake_jid(1) + " outcome=ok "));
  wsgi.master().says_at_once = false;
  CHECK(wsgi.run(call).status == http::Status::ok);
  CHECK(wsgi.log().has("fun=key.list_all tgt=- jid=" + fake_jid(2) + " outcome=sent "));
}

TEST_CASE("a denied chunk and the chunks that did not run have audit lines") {
  const Wsgi wsgi;
  const std::string bad =
      R"({"eauth": "pam", "username": "eve", "password": "wrong", "client": "local", "tgt": "*", "fun": "test.ping"})";
  CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " + bad + ", " + Wsgi::chunk(kPingKeys) + "]").status ==
        http::Status::unauthorized);
  CHECK(audit_of(wsgi) == denied("auto", "saltdev", "not-run") + denied("pam", "eve", "denied") +
                              denied("auto", "saltdev", "not-run"));
}

TEST_CASE("the audit line names the owner of a token, and joins lists with commas") {
  const Wsgi wsgi;
  CHECK(wsgi.post(R"({"token": "deadbeef", "client": "local", "tgt": "*", "fun": "test.ping"})").status ==
        http::Status::ok);
  CHECK(wsgi.log().has("user=tokenuser eauth=pam "));
  CHECK(!wsgi.log().has("deadbeef"));
  CHECK(wsgi.post(R"({"client": "local", "tgt": "*", "fun": "test.ping"})").status ==
        http::Status::unauthorized);
  CHECK(wsgi.log().has("user=- eauth=- "));
  CHECK(wsgi.run(R"("client": "local", "tgt": ["a", "b"], "tgt_type": "list", "fun": ["test.ping", "c.d"])")
            .status == http::Status::ok);
  CHECK(wsgi.log().has(" fun=test.ping,c.d tgt=a,b "));
}

TEST_CASE("the audit line names the user of a denied call if known") {
  const Wsgi wsgi;
  const std::string chunk = R"({"token": "deadbeef", "client": "local", "tgt": "*", "fun": "test.ping"})";
  wsgi.master().on_admit = [](const lowstate::Chunk&) {
    Error error{ErrorKind::authorization, "no"};
    error.user = "ann";
    error.eauth = "file";
    return error;
  };
  CHECK(wsgi.post(chunk).status == http::Status::unauthorized);
  wsgi.master().on_admit = [](const lowstate::Chunk&) { return Error{ErrorKind::authentication, "no"}; };
  CHECK(wsgi.post(chunk).status == http::Status::unauthorized);
  CHECK(audit_of(wsgi) == denied("file", "ann", "denied") + denied("token", "-", "denied"));
}

TEST_CASE("a throttled request gets Retry-After and the outcome throttled") {
  const Wsgi wsgi;
  wsgi.master().on_admit = [](const lowstate::Chunk& chunk) {
    CHECK(chunk.credentials.remote == "192.0.2.7");
    Error error{ErrorKind::throttled, "Too many failed tries."};
    error.retry_after = std::chrono::seconds(42);
    return error;
  };
  const auto response = wsgi.run(kPingKeys);
  CHECK(text_of(response) == R"(429 {"return": "Too many failed tries."})");
  CHECK(header(response, "Retry-After") == "42");
  CHECK(audit_of(wsgi) == denied("auto", "saltdev", "throttled"));
}

TEST_CASE("a failed chunk and the chunks after it have audit lines") {
  const std::vector<std::pair<ErrorKind, std::string>> outcomes{{ErrorKind::unavailable, "unavailable"},
                                                                {ErrorKind::timeout, "timeout"},
                                                                {ErrorKind::internal, "failed"},
                                                                {ErrorKind::invocation, "invalid"},
                                                                {ErrorKind::authorization, "denied"}};
  for (const auto& [kind, outcome] : outcomes) {
    const Wsgi wsgi;
    wsgi.master().on_start = [kind = kind](const std::string&) { return Error{kind, "no", {}}; };
    CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " + Wsgi::chunk(kPingKeys) + "]").status !=
          http::Status::ok);
    CHECK(audit_of(wsgi) == denied("auto", "saltdev", outcome) + denied("auto", "saltdev", "not-run"));
  }
}

TEST_CASE("arguments and secrets are not in audit lines, logs and errors") {
  const Wsgi wsgi;
  const std::string secret = "c4n4ry";
  const std::vector<std::string> bodies{
      R"([{"eauth": "auto", "username": "u", "password": "c4n4ry", "client": "local", "tgt": "*", "fun": "a.b",
           "arg": ["c4n4ry"], "kwarg": {"k": "c4n4ry"}, "metadata": {"m": "c4n4ry"}}])",
      R"([{"eauth": "auto", "password": ["c4n4ry"], "client": "local", "tgt": "*", "fun": "a.b"}])",
      R"([{"token": "c4n4ry", "client": "runner", "fun": "a.b", "arg": "c4n4ry", "pillar": "c4n4ry"}])",
      R"([{"token": {"c4n4ry": 1}, "client": "runner", "fun": "a.b"}])",
      R"([{"token": "c4n4ry", "client": "local", "fun": "a.b"}])",
      R"([{"token": "c4n4ry", "client": "ssh", "tgt": "*", "fun": "a.b", "arg": ["c4n4ry"]}])",
      R"([{"token": "c4n4ry", "client": "ssh", "tgt": "*", "fun": "a.b", "ssh_passwd": "c4n4ry"}])",
      R"([{"password": "c4n4ry", "client": "foo"}])",
      R"([{"password": "c4n4ry", ])"};
  for (const std::string& body : bodies) CHECK(wsgi.post(body).text().find(secret) == std::string::npos);
  CHECK(!wsgi.log().has(secret));
}

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

TEST_CASE("an audit line is key=value or JSON, and a missing value is a dash or an empty string") {
  CHECK(audit_line(entry(), false) ==
        "time=2026-11-20T23:07:17.380Z user=saltdev eauth=pam remote_addr=127.0.0.1 client=local "
        "fun=test.ping tgt=ms-* jid=20261120230717380290 outcome=ok ms=12.345");
  CHECK(
      audit_line(entry(), true) ==
      R"({"time": "2026-11-20T23:07:17.380Z", "user": "saltdev", "eauth": "pam", "remote_addr": "127.0.0.1", )"
      R"("client": "local", "fun": "test.ping", "tgt": "ms-*", "jid": "20261120230717380290", "outcome": "ok", )"
      R"("ms": 12.345})");
  AuditEntry line;
  line.outcome = "invalid";
  CHECK(audit_line(line, false) ==
        "time=1970-01-01T00:00:00.000Z user=- eauth=- remote_addr=- client=- fun=- tgt=- jid=- "
        "outcome=invalid ms=0.000");
  CHECK(audit_line(line, true).find(R"("user": "", )") != std::string::npos);
}

TEST_CASE("special characters in an audit line are quoted, and a value is cut at 256 bytes") {
  CHECK(text_with_user("a b") == R"("a b")");
  CHECK(text_with_user("a\" outcome=ok") == R"("a\" outcome=ok")");
  CHECK(text_with_user("a\nb") == R"("a\nb")");
  CHECK(text_with_user("a=b") == R"("a=b")");
  CHECK(text_with_user("a\\b") == R"("a\\b")");
  CHECK(text_with_user("-") == R"("-")");
  CHECK(text_with_user("\xC3\xA4") == "\"\xC3\xA4\"");
  CHECK(text_with_user(std::string(256, 'x')) == std::string(256, 'x'));
  CHECK(text_with_user(std::string(257, 'x')) == std::string(256, 'x') + "...");
  const std::string umlaut = "\xC3\xA4";
  CHECK(text_with_user(std::string(255, 'x') + umlaut) == "\"" + std::string(255, 'x') + "...\"");
}
