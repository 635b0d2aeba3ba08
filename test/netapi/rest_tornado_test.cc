// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "rest.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

constexpr const char* kLogIn = R"({"status": "401 Unauthorized", "return": "Please log in"})";
constexpr const char* kFailed = R"({"status": "401 Unauthorized", "return": ["Failed to authenticate"]})";
constexpr const char* kNobody = "No minions matched the target. No command was sent, no jid was assigned.";
constexpr const char* kForm = "X-Auth-Token: TOKEN | Content-Type: application/x-www-form-urlencoded";

}  // namespace

TEST_CASE("rest_tornado answers unknown paths with 404 and wrong methods with 405") {
  Rest rest{netapi::RestTornadoOptions{}};
  const std::string welcome =
      R"({"clients": ["local", "local_async", "runner", "runner_async"], "return": "Welcome"})";
  rest.check({
      {"GET /", "", "", 200, welcome, "Vary: Accept | Cache-Control: no-store | -Etag | -Allow"},
      {"GET /", "Accept: text/html,*/*;q=0.8", "", 200, "data-sessions=\"on\""},
      {"GET /login", "Accept: text/html", "", 200, "data-user=\"\""},
      {"GET /", "Accept-Encoding: gzip", "", 200, welcome, "-Content-Encoding"},
      {"GET /", "Accept: text/plain", "", 406, R"({"status": "406 Not Acceptable", "return": "<any>"})"},
      {"POST /", "Accept: text/html", kPing, 406, ""},
      {"GET /run", "", "", 405, R"({"status": "405 Method Not Allowed", "return": "<any>"})", "Allow: POST"},
      {"POST /jobs", kWith, kPing, 405, "", "Allow: GET, HEAD"},
      {"PUT /", "", "", 405, "", "Allow: GET, HEAD, POST"},
      {"GET /logout", kWith, "", 405, ""},
      {"GET /hook", kWith, "", 405, ""},
      {"POST /logout", kWith, "", 200, R"({"return": "Your token has been cleared"})"},
  });
  for (const char* const path :
       {"/keys", "/stats", "/ws", "/token", "/login/", "/run/", "/events/", "//", "/hookx", "/all_events/x",
        "/index", "//minions", "/%2Fminions", "//jobs/1", "/minionsx"}) {
    rest.check({std::string("GET ") + path, kWith, "", 404, ""});
  }
  rest.check({{"POST //hook/x", kWith, "{}", 404, ""}, {"POST //", kWith, kPing, 404, ""}});
}

TEST_CASE("login of rest_tornado creates a session") {
  Rest rest{netapi::RestTornadoOptions{}};
  const char* const kLogin =
      R"({"return": [{"token": "<token>", "expire": "<number>", "start": "<number>", "user": "fred", "eauth": "sharedsecret", "perms": "<any>"}]})";
  rest.check({
      {"GET /login", "", "", 401, kLogIn, "WWW-Authenticate: Session"},
      {"POST /login", "", "{CRED}", 200, kLogin},
      {"POST /login", "Content-Type: application/x-www-form-urlencoded",
       "username=fred&password=secret&eauth=sharedsecret", 200, kLogin},
      {"POST /login", "", R"({"username": "fred", "sharedsecret": "secret", "eauth": "sharedsecret"})", 200,
       kLogin},
      {"POST /login", "", R"({"username": "fred", "password": "secret"})", 400,
       R"({"status": "400 Bad Request", "return": "<has>'eauth' is missing"})"},
      {"POST /login?username=fred&password=secret&eauth=sharedsecret",
       "Content-Type: application/x-www-form-urlencoded", "a=b", 400, ""},
      {"POST /login", "Content-Type: application/x-www-form-urlencoded",
       "username=fred&username=fred&password=secret&eauth=sharedsecret", 400, "", "-Set-Cookie"},
      {"POST /login", "", R"({"username": "eve", "password": "secret", "eauth": "sharedsecret"})", 401, "",
       "-Set-Cookie | -X-Auth-Token"},
  });
  const auto login = rest.call({"POST /login", "", "{CRED}", 200, ""});
  CHECK(header(login, "Set-Cookie") ==
        "session_id=" + header(login, "X-Auth-Token") + "; Path=/; HttpOnly; SameSite=Lax");
}

TEST_CASE("rest_tornado runs chunks and answers with its own texts") {
  Rest rest{netapi::RestTornadoOptions{}};
  const std::string nobody = std::string(R"({"return": [")") + kNobody + "\"]}";
  rest.check({
      {"POST /", "", kPing, 401, kLogIn},
      {"POST /", "X-Auth-Token: bad | Cookie: session_id=TOKEN", kPing, 401, kLogIn},
      {"POST /", kWith, kPing, 200, kPong},
      {"POST /", "Cookie: session_id=TOKEN", kPing, 200, kPong},
      {"POST /", kWith, R"({"client": "local", "tgt": "zz", "fun": "test.ping"})", 200, nobody},
      {"POST /", kWith, R"([{"client": "local", "tgt": "*", "fun": "test.ping"}, {"client": "foo"}])", 400,
       R"json({"status": "400 Bad Request", "return": "Invalid Client: Client not found in salt clients (lowstate chunk 1)"})json"},
      {"POST /", kWith,
       R"([{"client": "local", "tgt": "*", "fun": "test.ping"}, {"client": "local", "tgt": "*"}])", 400,
       R"({"status": "400 Bad Request", "return": "<has>chunk 1: 'fun' is missing"})"},
      {"POST /", "X-Auth-Token: NOBODY", kPing, 401, kFailed},
      {"POST /", "X-Auth-Token: NOBODY", R"({"client": "runner", "fun": "manage.up"})", 401, kFailed},
      {"POST /run", "", R"([{"token": "TOKEN", "client": "local", "tgt": "*", "fun": "test.ping"}])", 200,
       kPong},
      {"POST /run", "X-Auth-Token: bad", R"([{CRED, "client": "local", "tgt": "*", "fun": "test.ping"}])",
       401, kFailed},
      {"POST /run", "Cookie: session_id=TOKEN | Origin: https://evil.example", kPing, 403, ""},
      {"POST /", kWith, R"({"client": "local_async", "tgt": "zz", "fun": "test.ping"})", 200,
       R"({"return": [{}]})"},
  });
}

TEST_CASE("rest_tornado uses its own texts for errors while a chunk runs") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestTornadoOptions{}, master);
  master->on_start = [](const std::string& what) -> std::optional<Error> {
    if (what == "runner") return Error{ErrorKind::unknown_runner, "'no.such' is not available.", {}};
    return Error{ErrorKind::authorization, "Authorization error occurred.", {}};
  };
  const std::string unknown = R"({"client": "runner", "fun": "no.such"})";
  rest.check({{"POST /", kWith, kPing, 401, kFailed},
              {"POST /", kWith, unknown, 200,
               R"({"return": ["Unexpected exception while handling request: 'no.such' is not available."]})"},
              {"POST /", kWith, "[" + unknown + ", " + unknown + "]", 400, ""}});
}

TEST_CASE("rest_tornado reads form values as text and adds the query") {
  Rest rest{netapi::RestTornadoOptions{}};
  rest.check({
      {"POST /?client=local", kForm, "tgt=*&fun=+test.ping%0a", 200, kPong},
      {"POST /", kForm, "client=local&client=local&tgt=*&fun=test.ping", 400, ""},
      {"POST /", "X-Auth-Token: TOKEN | Content-Type: text/plain", "hello", 400,
       R"({"status": "400 Bad Request", "return": "<has>line 1, column 1"})"},
      {"POST /", "X-Auth-Token: TOKEN | Content-Type: text/plain", kPing, 200, kPong},
  });
}

TEST_CASE("rest_tornado answers unknown minions and jobs with 404") {
  Rest rest{netapi::RestTornadoOptions{}};
  const std::string nobody = std::string(R"({"status": "404 Not Found", "return": ")") + kNobody + "\"}";
  rest.check({
      {"GET /minions", kWith, "", 200,
       R"({"return": [{"ms-0": "<any>", "ms-1": "<any>", "ms-2": "<any>"}]})"},
      {"GET /minions/", kWith, "", 200, ""},
      {"GET /minions/zz", kWith, "", 404, nobody},
      {"GET /minions/a/b", kWith, "", 404, nobody},
      {"GET /minions", "X-Auth-Token: NOBODY", "", 401, kFailed},
      {"GET /minions", "", "", 401, kLogIn},
      {"POST /minions", kWith, R"({"tgt": "*", "fun": "test.ping"})", 202,
       R"({"return": [{"jid": "<jid>", "minions": ["ms-0", "ms-1", "ms-2"]}]})"},
      {"GET /jobs", kWith, "", 200, R"({"return": ["<any>"]})"},
      {"GET /jobs/", kWith, "", 200, ""},
      {"GET /jobs/abc", kWith, "", 404,
       R"({"status": "404 Not Found", "return": [{"jid": "abc", "Error": "Cannot contact returner or no job with this jid", "StartTime": "", "Result": {}}]})"},
      {"GET /minions/ms-%30", kWith, "", 200, R"({"return": [{"ms-0": "<any>"}]})"},
      {"POST /minions", kWith, R"({"client": "local", "tgt": "*", "fun": "test.ping"})", 400,
       R"({"status": "400 Bad Request", "return": "<has>'local_async'"})"},
      {"POST /minions", kWith, "", 400, ""},
  });
  const auto started = rest.call({"POST /minions", kWith, R"({"tgt": "ms-0", "fun": "test.ping"})", 202, ""});
  const std::string jid = started.text().substr(started.text().find("\"20") + 1, 20);
  rest.check(
      {"GET /jobs/" + jid, kWith, "", 200,
       R"({"return": [{"jid": "<jid>", "Function": "test.ping", "Arguments": [], "Target": "ms-0", "Target-type": "glob", "User": "fred", "Minions": ["ms-0"], "StartTime": "<any>", "Result": "<any>"}]})"});
}

TEST_CASE("a hook of rest_tornado fires an event in its own form") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestTornadoOptions{}, master);
  rest.check({{"POST /hook", "", "{}", 401, kLogIn},
              {"POST /hook/", kWith, "", 200, R"({"success": true})"},
              {"POST /hook/a%2Fb%20c?x=1&x=2", "X-Auth-Token: TOKEN | Cookie: session_id=TOKEN | X-A: b",
               R"(["arg"])", 200, ""},
              {"POST /hook/f", kForm, "a=1", 200, ""},
              {"POST /hook", "X-Auth-Token: TOKEN | Content-Type: text/xml", "<a/>", 406, ""}});
  const auto fired = master->fired();
  REQUIRE(fired.size() == 3);
  CHECK(
      fired[0] ==
      R"(salt/netapi/hook/ {"post": null, "get": {}, "headers": {"Remote-Addr": "192.0.2.7", "Host": "api.example.org"}})");
  CHECK(
      fired[1] ==
      R"(salt/netapi/hook/a/b c {"post": ["arg"], "get": {"x": ["1", "2"]}, )"
      R"("headers": {"Remote-Addr": "192.0.2.7", "Content-Type": "application/json", "Host": "api.example.org", "X-A": "b"}})");
  CHECK(fired[2].starts_with(R"(salt/netapi/hook/f {"post": {"a": "1"}, )"));
  master->on_fire = [](std::string_view) { return Error{ErrorKind::unavailable, "No right to fire.", {}}; };
  rest.check({"POST /hook", kWith, "{}", 503, ""});
  Rest(netapi::RestTornadoOptions{}).check({"POST /hook", "X-Auth-Token: NOBODY", "{}", 401, kLogIn});
  Rest(netapi::RestTornadoOptions{.webhook_disable_auth = true}, std::make_shared<FakeMaster>())
      .check({"POST /hook", "X-Auth-Token: bad", "{}", 200, ""});
}

TEST_CASE("rest_tornado runs chunks in parallel and returns them in order") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestTornadoOptions{}, master);
  std::atomic<int> waiting = 0;
  master->on_runner = [&waiting](std::shared_ptr<master::RunnerReturns> returns) {
    const int mine = ++waiting;
    REQUIRE(test::eventually([&] { return waiting == 2; }));
    returns->put(master::RunnerReturn{Json::integer(mine), Json()});
  };
  const std::string runner = R"({"client": "runner", "fun": "test.sleep", "timeout": 20})";
  const std::string local = R"({"client": "local", "tgt": "*", "fun": "test.ping"})";
  rest.check({"POST /", kWith, "[" + runner + ", " + local + ", " + runner + "]", 200,
              R"({"return": ["<number>", {"ms-0": true, "ms-1": true, "ms-2": true}, "<number>"]})"});
  master->on_start = [](const std::string& what) -> std::optional<Error> {
    if (what != "wheel") return std::nullopt;
    return Error{ErrorKind::unavailable, "Salt Master is not available.", {}};
  };
  rest.check({"POST /", kWith, R"([{"client": "wheel", "fun": "key.list_all"}, )" + local + "]", 503,
              R"({"status": "503 Service Unavailable", "return": "Salt Master is not available.",
                  "completed": [{"jid": "<jid>", "return": {"ms-0": true, "ms-1": true, "ms-2": true}}]})"});
}

TEST_CASE("additional threads for chunks are limited in the whole process") {
  constexpr int kRequests = 4, kHelpers = 16;
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestTornadoOptions{}, master);
  std::atomic<int> running = 0, most = 0;
  std::atomic<bool> go_on = false;
  master->on_runner = [&](std::shared_ptr<master::RunnerReturns> returns) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    test::eventually([&] { return go_on.load(); });
    --running;
    returns->put(master::RunnerReturn{Json::integer(1), Json()});
  };
  std::string chunks = R"([{"client": "runner", "fun": "test.sleep", "timeout": 60})";
  for (int i = 1; i < 20; ++i) chunks += R"(, {"client": "runner", "fun": "test.sleep", "timeout": 60})";
  chunks += "]";
  const Row row{"POST /", "X-Auth-Token: " + rest.token("fred"), chunks, 200, ""};
  std::vector<std::thread> requests;
  std::atomic<int> good = 0;
  for (int i = 0; i < kRequests; ++i) {
    requests.emplace_back([&] { good += rest.call(row).status == http::Status::ok ? 1 : 0; });
  }
  CHECK(test::eventually([&] { return running == kRequests + kHelpers; }));
  // If the limit failed, more threads would start during this sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on = true;
  for (std::thread& request : requests) request.join();
  CHECK(good == kRequests);
  CHECK(most == kRequests + kHelpers);
}
