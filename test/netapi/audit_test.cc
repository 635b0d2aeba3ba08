// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "wsgi.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

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

TEST_CASE("each chunk has an audit line with its jid") {
  const Wsgi wsgi;
  CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                  Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]")
            .status == http::Status::ok);
  CHECK(audit_of(wsgi) ==
        "user=saltdev eauth=auto remote_addr=192.0.2.7 client=local fun=test.ping tgt=* jid=" + fake_jid(1) +
            " outcome=ok ms=0.000\nuser=saltdev eauth=auto remote_addr=192.0.2.7 client=runner fun=manage.up "
            "tgt=- "
            "jid=" +
            fake_jid(2) + " outcome=ok ms=0.000\n");
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

TEST_CASE("the audit line has the duration of its chunk") {
  Wsgi wsgi;
  wsgi.master().on_start = [&wsgi](const std::string& what) -> std::optional<Error> {
    wsgi.clock().advance(std::chrono::milliseconds(what == "runner" ? 5 : 7));
    return std::nullopt;
  };
  CHECK(wsgi.post("[" + Wsgi::chunk(kPingKeys) + ", " +
                  Wsgi::chunk(R"("client": "runner", "fun": "manage.up")") + "]")
            .status == http::Status::ok);
  CHECK(wsgi.log().has("outcome=ok ms=7.000"));
  CHECK(wsgi.log().has("outcome=ok ms=5.000"));
}

TEST_CASE("an audit line joins lists with commas") {
  const Wsgi wsgi;
  CHECK(wsgi.run(R"("client": "local", "tgt": ["a", "b"], "tgt_type": "list", "fun": ["test.ping", "c.d"])")
            .status == http::Status::ok);
  CHECK(wsgi.log().has(" fun=test.ping,c.d tgt=a,b "));
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

TEST_CASE("the audit line names the owner of a token") {
  const Wsgi wsgi;
  CHECK(wsgi.post(R"({"token": "deadbeef", "client": "local", "tgt": "*", "fun": "test.ping"})").status ==
        http::Status::ok);
  CHECK(wsgi.log().has("user=tokenuser eauth=pam "));
  CHECK(!wsgi.log().has("deadbeef"));
  CHECK(wsgi.post(R"({"client": "local", "tgt": "*", "fun": "test.ping"})").status ==
        http::Status::unauthorized);
  CHECK(wsgi.log().has("user=- eauth=- "));
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

TEST_CASE("a malformed body has one audit line") {
  const Wsgi wsgi;
  CHECK(wsgi.post("[").status == http::Status::bad_request);
  CHECK(audit_of(wsgi) ==
        "user=- eauth=- remote_addr=192.0.2.7 client=- fun=- tgt=- jid=- outcome=invalid ms=0.000\n");
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
