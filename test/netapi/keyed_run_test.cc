// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/fake_master.h"
#include "rest.h"
#include "rest_fcgi/auth/request_keys.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/netapi/rest.h"
#include "rest_fcgi/store/store.h"
#include "wsgi.h"

namespace rest_fcgi::netapi {
namespace {

using test::Rest;
using test::Row;

constexpr const char* kKey = "Idempotency-Key: 5c6a | X-Auth-Token: TOKEN";
constexpr const char* kArg = R"({"client": "local", "tgt": "ms-0", "fun": "test.ping", "full_return": true})";
constexpr const char* kRunArg =
    R"({"client": "local", "tgt": "ms-0", "fun": "test.ping", "full_return": true, CRED})";

std::shared_ptr<auth::RequestKeys> new_keys() {
  return std::make_shared<auth::RequestKeys>(*store::Store::open({}), system_clock());
}

template <class Options>
Options with(std::shared_ptr<auth::RequestKeys> keys) {
  Options options;
  options.common.request_keys = std::move(keys);
  return options;
}

/// Sends the request twice. Checks that the second reply repeats the first reply.
void check_repeated(Rest& rest, const Row& row) {
  INFO(row.request);
  const auto first = rest.call(row);
  CHECK(static_cast<int>(first.status) == row.status);
  CHECK(test::header(first, "Idempotency-Replayed") == "no Idempotency-Replayed");
  const auto second = rest.call(row);
  CHECK(second.status == first.status);
  CHECK(second.text() == first.text());
  CHECK(test::header(second, "Content-Type") == test::header(first, "Content-Type"));
  CHECK(test::header(second, "Idempotency-Replayed") == "true");
}

TEST_CASE_TEMPLATE("a repeated POST gets the first reply", Options, RestCherrypyOptions, RestTornadoOptions) {
  const auto keys = new_keys();
  Rest rest(with<Options>(keys));
  for (const auto& [url, body] : {std::pair("POST /", kArg), std::pair("POST /run", kRunArg),
                                  std::pair("POST /minions", R"({"tgt": "*", "fun": "test.ping"})"),
                                  std::pair("POST /hook/a", R"({"b": 1})")}) {
    const int status = std::string_view(url) == "POST /minions" ? 202 : 200;
    check_repeated(rest,
                   {url, std::string("X-Auth-Token: TOKEN | Idempotency-Key: ") + (url + 5), body, status});
  }
  CHECK(keys->replays == 4);
  CHECK(rest.log().has("outcome=replayed"));
}

TEST_CASE("a key with another body, URL or user does not repeat a reply") {
  const auto keys = new_keys();
  Rest rest(with<RestCherrypyOptions>(keys));
  const auto first = rest.call({"POST /", kKey, kArg, 200});
  rest.check({"POST /", kKey, test::kPing, 422, "Idempotency-Key"});
  rest.check({"POST /run", kKey, kRunArg, 422});
  rest.check({"POST /?a=b", kKey, kArg, 422});
  CHECK(keys->conflicts == 3);
  rest.check({"POST /", "Idempotency-Key: 5c6a | X-Auth-Token: JOE", test::kPing, 401});
  rest.check({"POST /", "Idempotency-Key: 5c6a | X-Auth-Token: " + std::string(64, '0'), kArg, 401});
  const std::string joe = R"({"client": "local", "tgt": "*", "fun": "test.ping", "eauth": "sharedsecret",
                              "username": "fred", "password": "wrong"})";
  rest.check({"POST /run", "Idempotency-Key: 5c6a", joe, 401, "", "-Idempotency-Replayed"});
  CHECK(rest.call({"POST /", kKey, kArg, 200}).text() == first.text());
}

TEST_CASE("a malformed key is refused, and GET and /keys ignore the key") {
  Rest rest(with<RestCherrypyOptions>(new_keys()));
  rest.check({"POST /", "Idempotency-Key: " + std::string(256, 'a') + " | X-Auth-Token: TOKEN", kArg, 400});
  rest.check({"POST /", "Idempotency-Key: a b | X-Auth-Token: TOKEN", kArg, 400});
  rest.check({"POST /", "Idempotency-Key: " + std::string(255, 'a') + " | X-Auth-Token: TOKEN", kArg, 200});
  for (int i = 0; i < 2; ++i) {
    rest.check({"GET /minions", kKey, "", 200, "", "-Idempotency-Replayed"});
    rest.check({"POST /login", "Idempotency-Key: 5c6a", "{CRED}", 200, "", "-Idempotency-Replayed"});
  }
}

struct Faked {
  std::shared_ptr<test::FakeMaster> master = std::make_shared<test::FakeMaster>();
  std::shared_ptr<auth::RequestKeys> keys = new_keys();
  Rest rest{with<RestCherrypyOptions>(keys), master};
  Row ping{
      "POST /run", "Idempotency-Key: x",
      R"({"client": "local", "tgt": "*", "fun": "test.ping", "eauth": "pam", "username": "u", "password": "p"})",
      200};

  std::string call() {
    const auto response = rest.call(ping);
    return std::to_string(static_cast<int>(response.status)) + " " +
           test::header(response, "Idempotency-Replayed");
  }
};

TEST_CASE("a refusal before the run is not kept, and a possible run is") {
  const std::string jid = test::fake_jid(1);
  for (const auto& [kind, status, is_kept] :
       {std::tuple(ErrorKind::invocation, "400", false), std::tuple(ErrorKind::authorization, "401", false),
        std::tuple(ErrorKind::throttled, "429", false), std::tuple(ErrorKind::unavailable, "503", false),
        std::tuple(ErrorKind::timeout, "504", true), std::tuple(ErrorKind::internal, "500", true)}) {
    Faked faked;
    faked.master->on_start = [kind = kind](const std::string&) { return Error{kind, "no"}; };
    CHECK(faked.call() == std::string(status) + " no Idempotency-Replayed");
    faked.master->on_start = nullptr;
    CHECK(faked.call() == (is_kept ? std::string(status) + " true" : "200 no Idempotency-Replayed"));
  }
  for (Error error : {Error{ErrorKind::unavailable, "lost", jid}, Error{ErrorKind::unavailable, "sent"}}) {
    error.may_have_run = error.jid.empty();
    Faked faked;
    faked.master->on_start = [&](const std::string&) { return error; };
    CHECK(faked.call() == "503 no Idempotency-Replayed");
    faked.master->on_start = nullptr;
    CHECK(faked.call() == "503 true");
    CHECK(faked.master->started().empty());
  }
}

TEST_CASE("a repetition waits for the first request, and not beyond its own deadline") {
  const test::CapturedLog log;
  auto options = test::quick_options();
  options.request_timeout = std::chrono::milliseconds(500);
  const auto master = std::make_shared<test::FakeMaster>();
  Options with_keys;
  with_keys.request_keys = new_keys();
  const auto client = std::make_shared<const client::NetapiClient>(options, master);
  const auto application = make_rest_wsgi(with_keys, client, system_clock());
  const std::string body = "[" + test::Wsgi::chunk(test::kPingKeys) + "]";
  const auto call = [&] {
    http::Environ request = test::Wsgi::post_of(body);
    request.set("HTTP_IDEMPOTENCY_KEY", "x");
    return test::text_of(application(request));
  };
  std::string late;
  std::string in_time;
  std::thread waiting;
  master->on_start = [&](const std::string&) {
    std::thread([&] { late = call(); }).join();
    waiting = std::thread([&] { in_time = call(); });
    return std::optional<Error>();
  };
  const std::string first = call();
  waiting.join();
  CHECK(late.starts_with("504 "));
  CHECK(in_time == first);
  CHECK(call() == first);
  CHECK(master->started().size() == 1);
}

TEST_CASE("a reply that is too large or has a private key is not kept") {
  Faked faked;
  faked.master->on_minion = [](const std::string& minion, const master::Publication&, const std::string&,
                               test::FakeMaster::Returns returns) {
    returns->put(test::returned(minion, "\"" + std::string(400'000, 'x') + "\""));
  };
  CHECK(faked.call() == "200 no Idempotency-Replayed");
  CHECK(faked.call() == "409 no Idempotency-Replayed");
  CHECK(faked.master->started().size() == 1);
  Faked wheel;
  wheel.ping.body =
      R"({"client": "wheel", "fun": "key.gen", "eauth": "pam", "username": "u", "password": "p"})";
  CHECK(wheel.call() == "200 no Idempotency-Replayed");
  CHECK(wheel.call() == "409 no Idempotency-Replayed");
}

TEST_CASE("the reply to a repetition after the end of the process names the jids") {
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  Rest rest(with<RestCherrypyOptions>(std::make_shared<auth::RequestKeys>(store, system_clock())));
  const auto first = rest.call({"POST /", kKey, kArg, 200});
  std::string content;
  std::string jids;
  std::string boot;
  CHECK(store->read([&](store::Connection& connection) {
    return connection.each("SELECT request FROM request_key", [&](const store::Row& row) {
      std::string_view text = row.text(0);
      for (std::string* part : {&content, &jids, &boot}) *part = next_token(text, '\t');
      return false;
    });
  }));
  CHECK(jids.size() == 20);
  CHECK(rest.log().has("jid=" + jids));
  const std::string killed =
      content + "\t" + jids + "\t" + boot + "\t999999999\t1\t9223372036854775807\t0\t\n";
  CHECK(*store->execute("UPDATE request_key SET request = ?", killed) == 1);
  rest.check({"POST /", kKey, kArg, 409,
              R"({"status": 409, "return": "<has>does not run again", "jid": ")" + jids + "\"}"});
}

}  // namespace
}  // namespace rest_fcgi::netapi
