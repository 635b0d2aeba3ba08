// SPDX-License-Identifier: MIT
#include "rest_fcgi/client/netapi_client.h"

#include <doctest/doctest.h>

#include "../support/holds.h"
#include "admitted.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using lowstate::Client;
using std::chrono::milliseconds;

namespace {

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

}  // namespace

TEST_CASE("salt#64368: without enabled clients every client is refused with Salt's text") {
  const Clients clients{client::Options()};
  for (const Client client : lowstate::kClients) {
    const std::string name(name_of(client));
    CHECK(admitted(clients, R"({"tgt": "*", "fun": "test.ping", "client": ")" + name + R"("})") ==
          "Client disabled: '" + name + "'. Add to 'netapi_enable_clients' master config option to enable.");
  }
}

TEST_CASE("one enabled client does not enable others") {
  client::Options options;
  options.enabled = {Client::local};
  const Clients clients(options);
  CHECK(admitted(clients,
                 R"({"client": "local", "tgt": "*", "fun": "a.b", "eauth": "auto", "username": "u"})") ==
        "u");
  CHECK(admitted(clients, R"({"client": "local_async", "tgt": "*", "fun": "a.b", "eauth": "auto"})")
            .substr(0, 15) == "Client disabled");
}

TEST_CASE("a chunk of a URL needs no enabled client, but credentials and permission") {
  const Clients clients{client::Options()};
  const std::string chunk = R"("client": "runner", "fun": "jobs.list_jobs"})";
  const std::string fred = R"({"eauth": "auto", "username": "fred", "password": "x", )" + chunk;
  CHECK(admitted(clients, fred).starts_with("Client disabled"));
  CHECK(admitted(clients, fred, true) == "fred");
  CHECK(admitted(clients, "{" + chunk, true) == "No authentication credentials given");
  CHECK(admitted(clients, R"({"eauth": "auto", "username": "fred", "password": "wrong", )" + chunk, true) ==
        "Authorization error occurred.");
}

TEST_CASE("without credentials the master is not asked") {
  const Clients clients;
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

TEST_CASE("runner returns the function's return, or the whole event with full_return") {
  const Clients clients;
  const auto reply = clients.run(kRunner);
  REQUIRE(reply);
  CHECK(reply->items.at(0).text() == R"(["ms-0"])");
  CHECK(reply->jid == fake_jid(1));
  CHECK(Clients().text(std::string(kRunner) + R"(, "full_return": true)") ==
        R"({"data": {"return": ["ms-0"]}, "tag": "salt/run/)" + fake_jid(1) + R"(/ret"})");
}

TEST_CASE("a runner that exceeds its timeout is an error with Salt's text and the jid") {
  const Clients clients;
  clients.master().on_runner = [](auto) {};
  for (const std::string timeout : {"", R"(, "timeout": 0.01)"}) {
    const auto reply = clients.run(std::string(kRunner) + timeout);
    REQUIRE(!reply);
    CHECK(reply.error().kind == ErrorKind::timeout);
    CHECK(reply.error().message == "RunnerClient job '" + reply.error().jid + "' timed out");
    CHECK(reply.error().jid.size() == 20);
  }
}

TEST_CASE("runner_async, wheel and wheel_async return the same as in Salt") {
  const Clients clients;
  CHECK(clients.text(R"("client": "runner_async", "fun": "manage.up")") ==
        R"({"tag": "salt/run/)" + fake_jid(1) + R"(", "jid": ")" + fake_jid(1) + R"("})");
  CHECK(clients.text(R"("client": "wheel", "fun": "key.list_all")") ==
        R"({"tag": "salt/wheel/)" + fake_jid(2) + R"(", "data": {}})");
  CHECK(clients.text(R"("client": "wheel_async", "fun": "key.list_all")") ==
        R"({"tag": "salt/wheel/)" + fake_jid(3) + R"(", "jid": ")" + fake_jid(3) + R"("})");
  CHECK(clients.master().started() == std::vector<std::string>{"runner_async", "wheel", "wheel_async"});
}

TEST_CASE("the master's refusal is the runner's or wheel's error") {
  for (const std::string client : {"runner", "runner_async", "wheel", "wheel_async"}) {
    const Clients clients;
    clients.master().on_start = [](const std::string&) {
      return Error{ErrorKind::invocation, "'nosuch.fun' is not available.", {}};
    };
    CHECK(clients.text(R"("fun": "nosuch.fun", "client": ")" + client + "\"") ==
          "'nosuch.fun' is not available.");
  }
}

TEST_CASE("after the end of the request, no function starts") {
  const Clients clients;
  const Admitted chunk(clients.master(), kRunner, system_clock().steady());
  const auto reply = clients.client().run(chunk.permit());
  REQUIRE(!reply);
  CHECK(reply.error().kind == ErrorKind::timeout);
  CHECK(reply.error().message ==
        "Lowstate chunk 0 was not started: the request had taken 300 seconds (request_timeout)");
  CHECK(clients.master().started().empty());
}

TEST_CASE("the client ssh returns the hosts' returns and the jid") {
  const Clients clients;
  const auto reply = clients.run(R"("client": "ssh", "tgt": "*", "fun": "test.ping")");
  REQUIRE(reply);
  REQUIRE(reply->items.size() == 1);
  CHECK(reply->items[0].text() == R"({"web1": {"return": true}})");
  CHECK(reply->jid == test::fake_jid(1));
  CHECK(clients.master().started() == std::vector<std::string>{"ssh"});
}

TEST_CASE("the client ssh fails with the master's error") {
  client::Options options = test::quick_options();
  options.max_reply_bytes = 1024;
  const Clients clients(options);
  clients.master().ssh_reply = "\"" + std::string(2000, 'x') + "\"";
  const auto large = clients.run(R"("client": "ssh", "tgt": "*", "fun": "test.ping")");
  REQUIRE_FALSE(large);
  CHECK(large.error().kind == ErrorKind::reply_too_large);
  CHECK(large.error().message.find("max_reply_bytes") != std::string::npos);
  CHECK(large.error().jid == test::fake_jid(1));
  clients.master().on_start = [](const std::string&) {
    return Error{ErrorKind::unavailable, "salt-ssh is not installed on this host."};
  };
  CHECK(clients.text(R"("client": "ssh", "tgt": "*", "fun": "test.ping")") ==
        "salt-ssh is not installed on this host.");
}

TEST_CASE("the loss of a runner's return is an error with the jid") {
  const Clients clients;
  clients.master().on_runner = [](auto returns) {
    returns->put(Error{ErrorKind::unavailable, "Salt Master is not available."});
  };
  const auto reply = clients.run(kRunner);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().kind == ErrorKind::unavailable);
  CHECK(reply.error().jid == fake_jid(1));
}

TEST_CASE("returns beyond the size limit end the reply with the jid and the returns that fit") {
  client::Options options = quick_options();
  options.max_reply_bytes = 1500;
  options.timeout = std::chrono::seconds(60);
  const Clients clients(options);
  clients.master().on_minion = [](const std::string& minion, const master::Publication&, const std::string&,
                                  auto returns) {
    for (int i = 0; i < 3; ++i) returns->put(returned(minion, '"' + std::string(600, 'x') + '"'));
  };
  const auto reply = clients.run(R"("client": "local", "tgt": "*", "fun": "test.ping")");
  REQUIRE(reply);
  REQUIRE(reply->failure);
  CHECK(reply->failure->kind == ErrorKind::reply_too_large);
  CHECK(holds(reply->failure->message, "1500 bytes (max_reply_bytes)"));
  CHECK(reply->failure->jid == fake_jid(1));
  CHECK(reply->items.at(0).text().size() < 1500);
}

TEST_CASE("returns that come with the job count for the size limit") {
  client::Options options = quick_options();
  options.max_reply_bytes = 1500;
  options.timeout = std::chrono::seconds(60);
  const Clients clients(options);
  const std::string large = '"' + std::string(600, 'x') + '"';
  clients.master().at_once = {large, large, large};
  const Admitted ping(clients.master(), R"("client": "local", "tgt": "*", "fun": "test.ping")",
                      clients.client().deadline());
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
  client::Options options = quick_options();
  options.max_reply_bytes = 1000;
  const Clients clients(options);
  std::atomic<std::size_t> gathered = 0, others = 0;
  clients.master().on_runner = [&](const std::shared_ptr<master::RunnerReturns>& returns) {
    gathered += others;  // `others` stands for the bytes of chunks that run at the same time.
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
  client::Options options = quick_options();
  options.max_reply_bytes = 10;
  const Clients clients(options);
  clients.master().on_runner = [](const std::shared_ptr<master::RunnerReturns>& returns) {
    returns->put(master::RunnerReturn{Json::string("more than ten bytes"), Json()});
  };
  for (const std::string_view chunk :
       {kRunner, std::string_view(R"("client": "wheel", "fun": "key.list")")}) {
    const auto reply = clients.run(chunk);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().kind == ErrorKind::reply_too_large);
    CHECK_FALSE(reply.error().jid.empty());
  }
}
