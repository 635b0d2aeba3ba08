// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "rest.h"
#include "rest_fcgi/core/thread.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

const netapi::RestCherrypyOptions kAclOfFred{.api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}}}};

TEST_CASE("authorized_ips is checked before everything else") {
  Rest rest(netapi::RestCherrypyOptions{.authorized_ips = {"198.51.100.0/24"}});
  const char* const kBadIp = R"({"status": 403, "return": "Bad IP"})";
  rest.check({{"GET /", "", "", 403, kBadIp},
              {"GET /nosuch", "Remote-Addr: 192.0.2.7", "", 403, kBadIp},
              {"GET /", "Remote-Addr: 198.51.100.9", "", 200, ""}});
}

TEST_CASE("api_acl applies to logins, tokens, sessions and credentials in chunks") {
  Rest rest(kAclOfFred);
  const std::string run = R"([{CRED, "client": "local", "tgt": "*", "fun": "test.ping"}])";
  rest.check({{"POST /login", "", "{CRED}", 401, ""},
              {"POST /token", "", "{CRED}", 401, ""},
              {"POST /run", "", run, 401, R"({"status": 401, "return": "Authentication error occurred."})"},
              {"POST /", kWith, "[]", 401, ""},
              {"POST /login", "Remote-Addr: 198.51.100.9", "{CRED}", 200, ""},
              {"POST /token", "Remote-Addr: 198.51.100.9", "{CRED}", 200, ""},
              {"POST /run", "Remote-Addr: 198.51.100.9", run, 200, ""},
              {"POST /", "X-Auth-Token: TOKEN | Remote-Addr: 198.51.100.9", "[]", 200, ""},
              {"POST /", "X-Auth-Token: NOBODY | Remote-Addr: 198.51.100.9", "[]", 401, ""}});
}

TEST_CASE("a refusal by api_acl writes one log line and one audit line") {
  Rest rest(kAclOfFred);
  const std::string refused = "api_acl: user 'fred' was refused: found address '192.0.2.7'";
  std::size_t expected = 0;
  for (const Row& row : {Row{"POST /login", "", "{CRED}", 401, ""}, Row{"POST /token", "", "{CRED}", 401, ""},
                         Row{"POST /run", "", R"([{CRED, "client": "runner", "fun": "manage.up"}])", 401, ""},
                         Row{"GET /jobs", kWith, "", 401, ""}, Row{"GET /events", kWith, "", 401, ""}}) {
    rest.check(row);
    ++expected;
    CHECK(rest.log().count(refused) == expected);
    CHECK(rest.log().count("user=fred eauth=sharedsecret remote_addr=192.0.2.7") == expected);
    CHECK(rest.log().count("outcome=denied reason=api_acl ms=") == expected);
  }
  rest.check({"POST /login", "Remote-Addr: 198.51.100.9",
              R"({"username": "fred", "password": "bad", "eauth": "sharedsecret"})", 401, ""});
  CHECK(rest.log().count("reason=api_acl") == expected);
}

TEST_CASE("a refusal by api_acl does not reveal whether credentials are valid") {
  Rest rest(netapi::RestCherrypyOptions{
      .api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}, {"ann", {"198.51.100.0/24"}}}}});
  const auto chunk = [](const std::string& credentials, const std::string& call) {
    return "[{" + credentials + ", " + call + "}]";
  };
  const std::string wrong = R"("username": "fred", "password": "bad", "eauth": "sharedsecret")";
  const std::string ann = "\"token\": \"" + rest.token("ann") + "\"";
  const std::string unknown = "\"token\": \"" + std::string(64, 'a') + "\"";
  const std::string local = R"("client": "local", "tgt": "*", "fun": "test.ping")";
  const std::string denied = R"("client": "local", "tgt": "*", "fun": "test.echo")";
  const std::string nosuch = R"("client": "runner", "fun": "no.such")";
  const char* const kBad = R"({"status": 401, "return": "Authentication error occurred."})";
  const char* const kBadName =
      R"({"status": 401, "return": "Authentication failure of type \"eauth\" occurred for user fred."})";
  const char* const kBadToken =
      R"({"status": 401, "return": "Authentication failure of type \"token\" occurred."})";
  rest.check({{"POST /run", "", chunk("CRED", local), 401, kBad},
              {"POST /run", "", chunk(wrong, local), 401, kBad},
              {"POST /run", "", chunk("CRED", nosuch), 401, kBadName},
              {"POST /run", "", chunk(wrong, nosuch), 401, kBadName},
              {"POST /run", "", chunk(ann, denied), 401, kBad},
              {"POST /run", "", chunk(unknown, denied), 401, kBad},
              {"POST /run", "", chunk(ann, nosuch), 401, kBadToken},
              {"POST /run", "", chunk(unknown, nosuch), 401, kBadToken}});
  CHECK(rest.log().has("user=ann eauth=sharedsecret"));
  rest.check({{"POST /run", "Remote-Addr: 198.51.100.9", chunk("CRED", nosuch), 400, "is not available"},
              {"POST /run", "Remote-Addr: 198.51.100.9", chunk(ann, denied), 401,
               R"({"status": 401, "return": "Authorization error occurred."})"}});
}

TEST_CASE("api_acl is checked before the password") {
  const auto master = std::make_shared<FakeMaster>();
  int admissions = 0;
  master->on_admit = [&admissions](const lowstate::Chunk&) -> std::optional<Error> {
    ++admissions;
    return std::nullopt;
  };
  Rest rest(kAclOfFred, master);
  rest.check({"POST /run", "", R"([{CRED, "client": "runner", "fun": "manage.up"}])", 401, ""});
  CHECK(admissions == 0);
}

TEST_CASE("two routes with the same path are a configuration error") {
  const auto client =
      std::make_shared<const client::NetapiClient>(client::Options{}, std::make_shared<FakeMaster>());
  const TempDir dir;
  const auto error_of = [&](auto set) {
    netapi::RestCherrypyOptions options;
    options.static_root = dir.path();
    options.app = dir.write("gui.html", "GUI");
    set(options);
    const auto made = netapi::make_rest_cherrypy(options, client, nullptr, system_clock());
    return made ? std::string() : made.error().message;
  };
  const auto taken_by = [](std::string_view by) {
    return ", which is the path of " + std::string(by) + ", expected another path";
  };
  CHECK(error_of([](auto& options) { options.webhook_url = "run/"; }) ==
        "rest_cherrypy: webhook_url: found '/run'" + taken_by("a page of the API"));
  CHECK(error_of([](auto& options) { options.app_path = "/static"; }) ==
        "rest_cherrypy: app_path: found '/static'" + taken_by("static_path"));
  CHECK(error_of([](auto& options) { options.app_path = "/hook/"; }) ==
        "rest_cherrypy: app_path: found '/hook'" + taken_by("webhook_url"));
  CHECK(error_of([](auto& options) { options.webhook_url = "/static/hook"; }).empty());
  for (const char* root : {"/", "//", ""}) {  // salt-api accepts these paths.
    CHECK(error_of([&](auto& options) { options.webhook_url = root; }).empty());
  }
}

TEST_CASE("all URLs are below the mount point and root_prefix") {
  Rest rest(netapi::RestCherrypyOptions{.root_prefix = "/api"});
  rest.check({{"GET /api/", "", "", 200, ""},
              {"GET /api", "", "", 301, "", "Location: /api/"},
              {"GET /", "", "", 404, ""},
              {"GET /apix", "", "", 404, ""},
              {"POST /api/minions", kWith, R"({"tgt": "ms-0", "fun": "test.ping"})", 202,
               R"({"return": "<any>", "_links": {"jobs": [{"href": "<has>/api/jobs/2"}]}})"},
              {"POST /", "X-Auth-Token: TOKEN | Script-Name: /salt | Path-Info: /api/minions",
               R"({"tgt": "ms-0", "fun": "test.ping"})", 202,
               R"({"return": "<any>", "_links": {"jobs": [{"href": "<has>/salt/api/jobs/2"}]}})"}});
  const auto login = rest.call({"POST /api/login", "", "{CRED}", 200, ""});
  CHECK(header(login, "Set-Cookie").find("; Path=/api; ") != std::string::npos);
}

TEST_CASE("a session cookie from a page of another origin is refused") {
  Rest rest(netapi::RestCherrypyOptions{.cors_origin = {"https://gui.example.org"}});
  const std::string cookie = "Cookie: session_id=TOKEN";
  rest.check(
      {{"POST /", cookie, "[]", 200, ""},
       {"POST /", cookie + " | Origin: https://api.example.org", "[]", 200, ""},
       {"POST /", cookie + " | Origin: https://gui.example.org", "[]", 200, "",
        "Access-Control-Allow-Origin: https://gui.example.org | Access-Control-Allow-Credentials: true"},
       {"POST /", cookie + " | Origin: https://evil.example", "[]", 403,
        R"({"status": 403, "return": "<has>cors_origin"})",
        "Access-Control-Allow-Origin: * | -Access-Control-Allow-Credentials"},
       {"GET /minions", cookie + " | Sec-Fetch-Site: cross-site", "", 403, ""},
       {"POST /logout", cookie + " | Origin: null", "", 403, ""},
       {"POST /", "X-Auth-Token: TOKEN | Origin: https://evil.example", "[]", 200, ""},
       {"POST /login", "Origin: https://evil.example", "{CRED}", 200, "", "-Set-Cookie"}});
}

TEST_CASE("salt#28378: rest_cherrypy answers CORS preflight requests on every path") {
  Rest rest;
  const std::string asks = "Origin: https://gui.example.org | Access-Control-Request-Method: POST";
  const std::string headers =
      "Access-Control-Allow-Methods: GET, POST | Access-Control-Allow-Headers: Content-Type, "
      "Idempotency-Key, X-Auth-Token, "
      "X-Requested-With | Access-Control-Max-Age: 1400 | Access-Control-Allow-Origin: * | "
      "Access-Control-Expose-Headers: Idempotency-Replayed, X-Auth-Token | Content-Type: text/html";
  for (const char* const path : {"/", "/run", "/login", "/logout", "/minions", "/jobs", "/keys", "/token",
                                 "/hook", "/stats", "/nosuch", "*"}) {
    rest.check({std::string("OPTIONS ") + path, asks, "", 200, "", headers});
  }
  rest.check(
      {{"OPTIONS /", "Access-Control-Request-Method: DELETE", "", 200, "",
        "-Access-Control-Allow-Methods | -Access-Control-Allow-Headers | -Access-Control-Max-Age"},
       {"GET /", "", "", 200, "", "Access-Control-Allow-Origin: * | Vary: Accept-Encoding, Accept, Origin"}});
}

TEST_CASE("rest_tornado sends CORS headers only to origins in cors_origin") {
  const std::string asks =
      "Origin: https://gui.example.org | Access-Control-Request-Headers: x-auth-token, x-a";
  Rest off{netapi::RestTornadoOptions{}};
  off.check({{"OPTIONS /run", asks, "", 204, "",
              "-Access-Control-Allow-Origin | -Access-Control-Allow-Headers | -Access-Control-Allow-Methods"},
             {"OPTIONS /", "", "", 204, ""},
             {"GET /", "Origin: https://gui.example.org", "", 200, "",
              "-Access-Control-Allow-Origin | Vary: Accept"}});
  netapi::RestTornadoOptions options;
  options.cors_origin = {"*"};
  Rest all(options);
  all.check({{"OPTIONS /run", asks, "", 204, "",
              "Access-Control-Allow-Origin: * | Access-Control-Allow-Headers: x-auth-token, x-a | "
              "Access-Control-Allow-Methods: OPTIONS, GET, POST | Access-Control-Expose-Headers: "
              "Idempotency-Replayed, X-Auth-Token"},
             {"GET /nosuch", "", "", 404, "", "Access-Control-Allow-Origin: *"}});
  options.cors_origin = {"https://gui.example.org"};
  Rest one(options);
  one.check({{"GET /", asks, "", 200, "",
              "Access-Control-Allow-Origin: https://gui.example.org | Access-Control-Allow-Credentials: true "
              "| Vary: Accept, Origin"},
             {"GET /", "Origin: https://evil.example", "", 200, "",
              "-Access-Control-Allow-Origin | Vary: Accept, Origin"}});
}

TEST_CASE("enable_sessions: false removes the session URLs") {
  Rest rest(netapi::RestCherrypyOptions{.enable_sessions = false});
  rest.check({{"GET /login", "", "", 404, ""},
              {"POST /logout", kWith, "", 404, ""},
              {"GET /minions", kWith, "", 404, ""},
              {"GET /jobs", kWith, "", 404, ""},
              {"POST /", kWith, "[]", 200, ""},
              {"GET /keys", kWith, "", 200, ""},
              {"GET /stats", kWith, "", 200, ""}});
}

TEST_CASE("a hook fires an event without credentials") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  rest.check({{"POST /hook", "", "{}", 401, ""},
              {"POST /hook/some//tag/?x=1&token=secret",
               "X-Auth-Token: TOKEN | Cookie: session_id=TOKEN | Authorization: Basic xyz | "
               "Proxy-Authorization: Basic pqr | X-GITHUB-EVENT: push | Remote-Addr: 192.0.2.9 | "
               "Content-Type: application/x-www-form-urlencoded",
               "foo=Foo&foo=2&arg=1", 200, R"({"success": true})"},
              {"POST /hook", kWith, "", 200, R"({"success": true})"},
              {"POST /hook/a", "X-Auth-Token: TOKEN | Accept: text/html", "{}", 406, ""},
              {"POST /hook/a", "X-Auth-Token: TOKEN | Content-Type: text/xml", "<a/>", 406, ""},
              {"POST /hook/a", kWith, "{", 400, ""},
              {"POST /hook/a%0ab", kWith, "{}", 400, ""},
              {"POST /hook/%ff", kWith, "{}", 200, ""}});
  const auto fired = master->fired();
  REQUIRE(fired.size() == 3);
  CHECK(
      fired[0] ==
      R"(salt/netapi/hook/some/tag {"body": "foo=Foo&foo=2&arg=1", "post": {"arg": [1], "foo": ["Foo", "2"]}, "query": {"x": "1"}, )"
      R"("headers": {"Remote-Addr": "192.0.2.9", "Content-Type": "application/x-www-form-urlencoded", "Host": "api.example.org", "X-Github-Event": "push"}})");
  CHECK(fired[1].starts_with(R"(salt/netapi/hook {"body": "", "post": {}, "query": {}, )"));
  CHECK(fired[2].starts_with("salt/netapi/hook/\xC3\xBF {"));
  master->on_fire = [](std::string_view) { return Error{ErrorKind::unavailable, "No right to fire.", {}}; };
  rest.check({"POST /hook", kWith, "{}", 503, R"({"status": 503, "return": "No right to fire."})"});
}

TEST_CASE("webhook_disable_auth and webhook_url change the hook route") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{.webhook_url = "/a/b", .webhook_disable_auth = true}, master);
  rest.check({{"POST /a/b/c", "", "{}", 200, R"({"success": true})"}, {"POST /hook", "", "{}", 404, ""}});
  CHECK(master->fired().at(0).starts_with("salt/netapi/hook/c {"));
}

TEST_CASE("/stats counts requests") {
  Rest rest(netapi::RestCherrypyOptions{.collect_stats = true, .stats_disable_auth = true});
  rest.check(
      {{"GET /", "", "", 200, ""},
       {"GET /stats", "", "", 200,
        R"({"CherryPy Applications": {"Enabled": true, "Start Time": "<number>", "Current Time": "<number>", "Uptime": "<number>",
                   "Total Requests": 2, "Current Requests": 1, "Requests": {"/": {"Count": 1}}},
                   "Cheroot HTTPServer": {"Enabled": true, "Requests": 2, "Bytes Read": 0, "Bytes Written": "<number>", "Errors": 0}})"}});
  Rest closed;
  closed.check({"GET /stats", "", "", 401, ""});
}

TEST_CASE("POST /keys returns an archive with a new key pair") {
  const auto master = std::make_shared<FakeMaster>();
  master->wheel_data = R"({"success": true, "return": {"pub": "PUBLIC", "priv": "PRIVATE"}})";
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string headers =
      "Content-Type: application/x-tar | Content-Disposition: attachment; filename=\"saltkeys-jerry.tar\" | "
      "Cache-Control: no-store";
  rest.check({{"POST /keys", "", R"({CRED, "mid": "jerry"})", 200, "PRIVATE", headers},
              {"POST /keys", "Accept: application/x-tar", R"([{CRED, "id_": "jerry"}])", 200, "PUBLIC"},
              {"POST /keys", "Content-Type: application/x-www-form-urlencoded",
               "mid=jerry&username=u&password=p&eauth=auto&force=true&keysize=2048", 200, "PUBLIC"}});
  master->wheel_data = R"({"success": true, "return": {"pub": "", "priv": ""}})";
  rest.check({"POST /keys", "", R"({CRED, "mid": "jerry"})", 409,
              R"({"status": 409, "return": "<has>'jerry' has a key already"})"});
  master->wheel_data = R"({"success": false, "return": "It went wrong."})";
  const char* const kWhy = R"({"status": 400, "return": "<has>the log has the cause (reference "})";
  rest.check(
      {{"POST /keys", "", R"({CRED, "mid": "jerry"})", 400, kWhy}, {"GET /keys", kWith, "", 400, kWhy}});
  CHECK(rest.log().has("It went wrong."));
}

TEST_CASE("deeply nested bodies do not overflow a small stack") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  static_cast<void>(rest.token("fred"));
  const std::string deep = std::string(500, '[') + std::string(500, ']');
  master->on_runner = [&](std::shared_ptr<master::RunnerReturns> returns) {
    returns->put(master::RunnerReturn{Json::trusted(deep), Json()});
  };
  const auto ask_all = [&rest] {
    const std::string with = "X-Auth-Token: TOKEN | ";
    const std::string runner = R"({"client": "runner", "fun": "test.arg", "timeout": 20})";
    rest.check({{"POST /", with + "Accept: application/x-yaml", runner, 200, ""},
                {"POST /", with + "Content-Type: application/x-yaml",
                 std::string(99, '[') + std::string(99, ']'), 400, ""},
                {"POST /", with + "Content-Type: application/x-yaml", std::string(500000, '['), 400, ""},
                {"POST /", with + "Content-Type: application/x-yaml", std::string(500000, '{'), 400, ""},
                {"POST /", with + "Content-Type: application/json", std::string(500000, '['), 400, ""},
                {"POST /", with + "Content-Type: application/x-www-form-urlencoded",
                 "arg=" + std::string(500000, '['), 400, ""}});
  };
  auto thread = *Thread::start("small", ask_all, kSmallStack);
  thread.join();
}

TEST_CASE("an exception is answered with 500 and a reference to the log") {
  const auto master = std::make_shared<FakeMaster>();
  master->on_fire = [](std::string_view) -> std::optional<Error> { throw std::runtime_error("surprise"); };
  Rest rest(netapi::RestCherrypyOptions{}, master);
  rest.check({"POST /hook", kWith, "{}", 500,
              R"({"status": 500, "return": "<has>An unexpected error occurred (reference "})"});
  CHECK(rest.log().has("surprise"));
}

TEST_CASE("secrets of a request are never in the log") {
  Rest rest;
  const std::string secrets =
      "X-Auth-Token: hidden0 | Cookie: session_id=hidden1 | Authorization: Basic hidden2 | "
      "Proxy-Authorization: hidden3";
  for (const char* const path :
       {"/", "/login", "/logout", "/token", "/run", "/minions", "/keys", "/hook", "/nosuch"}) {
    for (const char* const type : {"application/json", "application/x-yaml",
                                   "application/x-www-form-urlencoded", "text/plain", "text/xml"}) {
      for (const char* const body :
           {"{\"password\": \"hidden4\"",
            "[{\"client\": \"local\", \"token\": \"hidden5\", \"password\": \"hidden6\"}]",
            "username=fred&eauth=sharedsecret&password=hidden7", "username: fred\npassword: hidden8\n\t"}) {
        static_cast<void>(
            rest.call({std::string("POST ") + path, secrets + " | Content-Type: " + type, body, 0, ""}));
      }
    }
  }
  CHECK(rest.log().has("info 401 for 192.0.2.7"));
  CHECK_FALSE(rest.log().has("hidden"));
}

TEST_CASE("hooks and stats refuse a user without a rule, even if other users have one") {
  const auto master = std::make_shared<FakeMaster>();
  master->expire = system_clock().wall() + std::chrono::hours(1);
  master->scope = auth::EventScope::nothing;  // The reply to a login has the rules of the user `*`.
  Rest rest(netapi::RestCherrypyOptions{}, master);
  const std::string with =
      "X-Auth-Token: " +
      header(rest.call(
                 {"POST /login", "", R"({"username": "fred", "password": "x", "eauth": "auto"})", 200, ""}),
             "X-Auth-Token");
  rest.check({{"POST /hook", with, "{}", 401, ""}, {"GET /stats", with, "", 401, ""}});
  CHECK(master->fired().empty());
}
