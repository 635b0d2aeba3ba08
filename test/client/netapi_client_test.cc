// SPDX-License-Identifier: MIT
#include "rest_fcgi/client/netapi_client.h"

#include <doctest/doctest.h>

#include "../support/holds.h"
#include "clients.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using lowstate::Client;
using std::chrono::milliseconds;

namespace {

void disabled(client::Options& options) {
  options.enabled.clear();
}

std::string admitted(const Clients& clients, const std::string& chunk, bool own = false) {
  JsonDocument document;
  REQUIRE(document.parse(chunk));
  const auto chunks = lowstate::read(document.root(), {});
  REQUIRE(chunks);
  const SteadyTime deadline = clients.client().deadline();
  const auto permit = own ? clients.client().admit_own(chunks->at(0), deadline)
                          : clients.client().admit(chunks->at(0), deadline);
  return permit ? permit->user() : permit.error().message;
}

constexpr std::string_view kRunner = R"("client": "runner", "fun": "manage.up")";
constexpr std::string_view kSsh = R"("client": "ssh", "tgt": "*", "fun": "test.ping")";
constexpr std::string_view kLocal = R"("client": "local", "tgt": "*", "fun": "test.ping")";

}  // namespace

TEST_CASE("salt#64368: without enabled clients every client is refused with Salt's text") {
  const Clients clients(disabled);
  for (const Client client : lowstate::kClients) {
    const std::string name(name_of(client));
    CHECK(admitted(clients, R"({"tgt": "*", "fun": "test.ping", "client": ")" + name + R"("})") ==
          "Client disabled: '" + name + "'. Add to 'netapi_enable_clients' master config option to enable.");
  }
}

TEST_CASE("one enabled client does not enable others") {
  const Clients clients([](client::Options& options) { options.enabled = {Client::local}; });
  CHECK(admitted(clients,
                 R"({"client": "local", "tgt": "*", "fun": "a.b", "eauth": "auto", "username": "u"})") ==
        "u");
  CHECK(admitted(clients, R"({"client": "local_async", "tgt": "*", "fun": "a.b", "eauth": "auto"})")
            .substr(0, 15) == "Client disabled");
}

TEST_CASE("a chunk of a URL needs no enabled client, but credentials and permission") {
  const Clients clients(disabled);
  const std::string chunk = R"("client": "runner", "fun": "jobs.list_jobs"})";
  const std::string fred = R"({"eauth": "auto", "username": "fred", "password": "x", )" + chunk;
  CHECK(admitted(clients, fred).starts_with("Client disabled"));
  CHECK(admitted(clients, fred, true) == "fred");
  CHECK(admitted(clients, "{" + chunk, true) == "No authentication credentials given");
  CHECK(admitted(clients, R"({"eauth": "auto", "username": "fred", "password": "wrong", )" + chunk, true) ==
        "Authorization error occurred.");
}

TEST_CASE_FIXTURE(WithClients, "without credentials the master is not asked") {
  clients.master().on_admit = [](const lowstate::Chunk&) -> std::optional<Error> {
    FAIL("asked");
    return std::nullopt;
  };
  for (const Client client : lowstate::kClients) {
    const std::string name(name_of(client));
    CHECK(admitted(clients, R"({"tgt": "*", "fun": "test.ping", "client": ")" + name + R"("})") ==
          "No authentication credentials given");
  }
}

TEST_CASE_FIXTURE(WithClients, "runner returns the function's return, or the whole event with full_return") {
  const auto reply = clients.run(kRunner);
  REQUIRE(reply);
  CHECK(reply->items.at(0).text() == R"(["ms-0"])");
  CHECK(reply->jid == fake_jid(1));
  CHECK(Clients().text(std::string(kRunner) + R"(, "full_return": true)") ==
        R"({"data": {"return": ["ms-0"]}, "tag": "salt/run/)" + fake_jid(1) + R"(/ret"})");
}

TEST_CASE_FIXTURE(WithClients, "a runner that exceeds its timeout is an error with Salt's text and the jid") {
  clients.master().on_runner = [](auto) {};
  CHECK(clients.error(kRunner).kind == ErrorKind::timeout);
  const Error error = clients.error(std::string(kRunner) + R"(, "timeout": 0.01)", 2);
  CHECK(error.kind == ErrorKind::timeout);
  CHECK(error.message == "RunnerClient job '" + fake_jid(2) + "' timed out");
}

TEST_CASE_FIXTURE(WithClients, "runner_async, wheel and wheel_async return the same as in Salt") {
  CHECK(clients.text(R"("client": "runner_async", "fun": "manage.up")") ==
        R"({"tag": "salt/run/)" + fake_jid(1) + R"(", "jid": ")" + fake_jid(1) + R"("})");
  CHECK(clients.text(R"("client": "wheel", "fun": "key.list_all")") ==
        R"({"tag": "salt/wheel/)" + fake_jid(2) + R"(", "data": {}})");
  CHECK(clients.text(R"("client": "wheel_async", "fun": "key.list_all")") ==
        R"({"tag": "salt/wheel/)" + fake_jid(3) + R"(", "jid": ")" + fake_jid(3) + R"("})");
  CHECK(clients.master().started() == std::vector<std::string>{"runner_async", "wheel", "wheel_async"});
}

TEST_CASE_FIXTURE(WithClients, "the master's refusal is the client's error") {
  clients.master().on_start = [](const std::string&) {
    return Error{ErrorKind::invocation, "'nosuch.fun' is not available."};
  };
  for (const Client client : lowstate::kClients) {
    CHECK(clients.text(R"("tgt": "*", "fun": "nosuch.fun", "client": ")" + std::string(name_of(client)) +
                       "\"") == "'nosuch.fun' is not available.");
  }
}

TEST_CASE_FIXTURE(WithClients, "after the end of the request, no function starts") {
  const Admitted chunk(clients.master(), kRunner, system_clock().steady());
  const auto reply = clients.client().run(chunk.permit());
  REQUIRE(!reply);
  CHECK(reply.error().kind == ErrorKind::timeout);
  CHECK(reply.error().message ==
        "Lowstate chunk 0 was not started: the request had taken 300 seconds (request_timeout)");
  CHECK(clients.master().started().empty());
}

TEST_CASE_FIXTURE(WithClients, "the client ssh returns the hosts' returns and the jid") {
  const auto reply = clients.run(kSsh);
  REQUIRE(reply);
  REQUIRE(reply->items.size() == 1);
  CHECK(reply->items[0].text() == R"({"web1": {"return": true}})");
  CHECK(reply->jid == test::fake_jid(1));
  CHECK(clients.master().started() == std::vector<std::string>{"ssh"});
}

TEST_CASE("a reply of the client ssh beyond the size limit is an error with the jid") {
  const Clients clients([](client::Options& options) { options.max_reply_bytes = 1024; });
  clients.master().ssh_reply = "\"" + std::string(2000, 'x') + "\"";
  const Error large = clients.error(kSsh);
  CHECK(large.kind == ErrorKind::reply_too_large);
  CHECK(holds(large.message, "max_reply_bytes"));
}

TEST_CASE_FIXTURE(WithClients, "the loss of a runner's return is an error with the jid") {
  clients.master().on_runner = [](auto returns) {
    returns->put(Error{ErrorKind::unavailable, "Salt Master is not available."});
  };
  CHECK(clients.error(kRunner).kind == ErrorKind::unavailable);
}

TEST_CASE("returns beyond the size limit end the reply with the jid and the returns that fit") {
  const Clients clients([](client::Options& options) {
    options.max_reply_bytes = 1500;
    options.timeout = std::chrono::seconds(60);
  });
  clients.master().on_minion = [](const std::string& minion, const master::Publication&, const std::string&,
                                  auto returns) {
    for (int i = 0; i < 3; ++i) returns->put(returned(minion, '"' + std::string(600, 'x') + '"'));
  };
  const auto reply = clients.partial(kLocal);
  CHECK(reply.failure->kind == ErrorKind::reply_too_large);
  CHECK(holds(reply.failure->message, "1500 bytes (max_reply_bytes)"));
  CHECK(reply.failure->jid == fake_jid(1));
  CHECK(reply.items[0].text().size() < 1500);
}

TEST_CASE("returns that come with the job count for the size limit") {
  const Clients clients([](client::Options& options) {
    options.max_reply_bytes = 1500;
    options.timeout = std::chrono::seconds(60);
  });
  const std::string large = '"' + std::string(600, 'x') + '"';
  clients.master().at_once = {large, large, large};
  const Admitted ping(clients.master(), kLocal, clients.client().deadline());
  std::atomic<std::size_t> gathered = 0;
  const auto reply = clients.client().run(ping.permit(), &gathered);
  REQUIRE(reply);
  REQUIRE(reply->failure);
  CHECK(reply->failure->kind == ErrorKind::reply_too_large);
  CHECK(reply->failure->jid == fake_jid(1));
  CHECK(reply->items.at(0).text() == "{\"ms-0\": " + large + ", \"ms-1\": " + large + "}");
  CHECK(gathered == reply->items.at(0).text().size());
}

TEST_CASE("parallel chunks share one size limit") {
  const Clients clients([](client::Options& options) { options.max_reply_bytes = 1000; });
  std::atomic<std::size_t> gathered = 0, others = 0;
  clients.master().on_runner = [&](const std::shared_ptr<master::RunnerReturns>& returns) {
    gathered += others;  // Other chunks that run at the same time have replies of this size.
    returns->put(master::RunnerReturn{Json::string(std::string(598, 'x')), Json()});
  };
  const Admitted runner(clients.master(), kRunner, clients.client().deadline());
  CHECK(clients.client().run(runner.permit(), &gathered));
  CHECK(gathered == 600);
  gathered = 0;
  others = 400;
  CHECK(clients.client().run(runner.permit(), &gathered));
  CHECK(gathered == 1000);
  gathered = 0;
  others = 401;
  const auto reply = clients.client().run(runner.permit(), &gathered);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::reply_too_large);
  CHECK(reply.error().jid == fake_jid(3));
}

TEST_CASE("a runner's or wheel's return beyond the size limit is an error with the jid") {
  const Clients clients([](client::Options& options) { options.max_reply_bytes = 10; });
  clients.master().on_runner = [](const std::shared_ptr<master::RunnerReturns>& returns) {
    returns->put(master::RunnerReturn{Json::string("more than ten bytes"), Json()});
  };
  CHECK(clients.error(kRunner).kind == ErrorKind::reply_too_large);
  CHECK(clients.error(R"("client": "wheel", "fun": "key.list")", 2).kind == ErrorKind::reply_too_large);
}
