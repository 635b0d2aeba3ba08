// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "rest.h"
#include "rest_fcgi/core/thread.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

constexpr const char* kWith = "X-Auth-Token: TOKEN";

/// All of a response's body.
std::string whole(http::Response response) {
  auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body);
  if (stream == nullptr) return response.text();
  std::string text;
  for (auto part = (*stream)->next(); part && !part->empty(); part = (*stream)->next()) text += *part;
  return text;
}

}  // namespace

TEST_CASE("who is not among authorized_ips is refused before all else") {
  netapi::RestCherrypyOptions options;
  options.authorized_ips = {"198.51.100.0/24"};
  Rest rest(options);
  const char* const kBadIp = R"({"status": 403, "return": "Bad IP"})";
  rest.check({{"GET /", "", "", 403, kBadIp},
              {"GET /nosuch", "Remote-Addr: 192.0.2.7", "", 403, kBadIp},
              {"GET /", "Remote-Addr: 198.51.100.9", "", 200, ""}});
}

TEST_CASE("api_acl counts for logins, tokens, sessions and credentials in chunks") {
  netapi::RestCherrypyOptions options;
  options.api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}}};
  Rest rest(options);
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

TEST_CASE("from where somebody may not come, nothing tells a good password, or what a token may do") {
  netapi::RestCherrypyOptions options;
  options.api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}, {"ann", {"198.51.100.0/24"}}}};
  Rest rest(options);
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
  CHECK(rest.log().has("user=ann eauth=sharedsecret"));  // it is for the audit alone
  rest.check({{"POST /run", "Remote-Addr: 198.51.100.9", chunk("CRED", nosuch), 400, "is not available"},
              {"POST /run", "Remote-Addr: 198.51.100.9", chunk(ann, denied), 401,
               R"({"status": 401, "return": "Authorization error occurred."})"}});
}

TEST_CASE("a password is not looked at where its user may not come from") {
  netapi::RestCherrypyOptions options;
  options.api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}}};
  const auto master = std::make_shared<FakeMaster>();
  int asked = 0;
  master->on_admit = [&asked](const lowstate::Chunk&) -> std::optional<Error> {
    ++asked;
    return std::nullopt;
  };
  Rest rest(options, master);
  rest.check({"POST /run", "", R"([{CRED, "client": "runner", "fun": "manage.up"}])", 401, ""});
  CHECK(asked == 0);
}

TEST_CASE("addresses and origins that are none keep the application from being made") {
  netapi::RestCherrypyOptions options;
  const auto client =
      std::make_shared<const client::NetapiClient>(client::Options{}, std::make_shared<FakeMaster>());
  options.authorized_ips = {"x"};
  CHECK_FALSE(netapi::make_rest_cherrypy(options, client, system_clock()));
  options.authorized_ips = {};
  options.cors_origin = {"x"};
  CHECK_FALSE(netapi::make_rest_cherrypy(options, client, system_clock()));
  options.cors_origin = {};
  options.api_acl = netapi::ApiAcl{{{"fred", {"x"}}}};
  CHECK_FALSE(netapi::make_rest_cherrypy(options, client, system_clock()));
}

TEST_CASE("all is below root_prefix and where the application is mounted") {
  netapi::RestCherrypyOptions options;
  options.root_prefix = "/api";
  Rest rest(options);
  rest.check({{"GET /api/", "", "", 200, ""},
              {"GET /api", "", "", 301, "", "Location: /api/"},
              {"GET /", "", "", 404, ""},
              {"GET /apix", "", "", 404, ""},
              {"POST /api/minions", kWith, R"({"tgt": "ms-0", "fun": "test.ping"})", 202,
               R"({"return": "<any>", "_links": {"jobs": [{"href": "<has>/api/jobs/2"}]}})"},
              {"POST /", "X-Auth-Token: TOKEN | Script-Name: /salt | Path-Info: /api/minions",
               R"({"tgt": "ms-0", "fun": "test.ping"})", 202,
               R"({"return": "<any>", "_links": {"jobs": [{"href": "<has>/salt/api/jobs/2"}]}})"}});
  const auto login = rest.ask({"POST /api/login", "", "{CRED}", 200, ""});
  CHECK(header(login, "Set-Cookie").find("; Path=/api; ") != std::string::npos);
}

TEST_CASE("a cookie is not for pages of other sites") {
  netapi::RestCherrypyOptions options;
  options.cors_origin = {"https://gui.example.org"};
  Rest rest(options);
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

TEST_CASE("rest_cherrypy lets pages of other sites ask first, on every path") {
  Rest rest;
  const std::string asks = "Origin: https://gui.example.org | Access-Control-Request-Method: POST";
  const std::string headers =
      "Access-Control-Allow-Methods: GET, POST | Access-Control-Allow-Headers: Content-Type, X-Auth-Token, "
      "X-Requested-With | "
      "Access-Control-Max-Age: 1400 | Access-Control-Allow-Origin: * | Access-Control-Expose-Headers: "
      "X-Auth-Token | Content-Type: text/html";
  for (const char* const path : {"/", "/run", "/login", "/logout", "/minions", "/jobs", "/keys", "/token",
                                 "/hook", "/stats", "/nosuch", "*"}) {
    rest.check({std::string("OPTIONS ") + path, asks, "", 200, "", headers});
  }
  rest.check(
      {{"OPTIONS /", "Access-Control-Request-Method: DELETE", "", 200, "",
        "-Access-Control-Allow-Methods | -Access-Control-Allow-Headers | -Access-Control-Max-Age"},
       {"GET /", "", "", 200, "", "Access-Control-Allow-Origin: * | Vary: Accept-Encoding, Accept, Origin"}});
}

TEST_CASE("rest_tornado names who may ask, and says nothing where that is nobody") {
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
  all.check(
      {{"OPTIONS /run", asks, "", 204, "",
        "Access-Control-Allow-Origin: * | Access-Control-Allow-Headers: x-auth-token, x-a | "
        "Access-Control-Allow-Methods: OPTIONS, GET, POST | Access-Control-Expose-Headers: X-Auth-Token"},
       {"GET /nosuch", "", "", 404, "", "Access-Control-Allow-Origin: *"}});
  options.cors_origin = {"https://gui.example.org"};
  Rest one(options);
  one.check({{"GET /", asks, "", 200, "",
              "Access-Control-Allow-Origin: https://gui.example.org | Access-Control-Allow-Credentials: true "
              "| Vary: Accept, Origin"},
             {"GET /", "Origin: https://evil.example", "", 200, "",
              "-Access-Control-Allow-Origin | Vary: Accept, Origin"}});
}

TEST_CASE("without sessions, tokens do") {
  netapi::RestCherrypyOptions options;
  options.enable_sessions = false;
  Rest rest(options);
  rest.check({{"GET /login", "", "", 404, ""},
              {"POST /logout", kWith, "", 404, ""},
              {"GET /minions", kWith, "", 404, ""},
              {"GET /jobs", kWith, "", 404, ""},
              {"POST /", kWith, "[]", 200, ""},
              {"GET /keys", kWith, "", 200, ""},
              {"GET /stats", kWith, "", 200, ""}});
}

TEST_CASE("a hook fires an event, without what would let others in") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  rest.check({{"POST /hook", "", "{}", 401, ""},
              {"POST /hook/some//tag/?x=1&token=secret",
               "X-Auth-Token: TOKEN | Cookie: session_id=TOKEN | Authorization: Basic xyz | "
               "Proxy-Authorization: Basic pqr | X-GITHUB-EVENT: push | "
               "Remote-Addr: 192.0.2.9 | Content-Type: application/x-www-form-urlencoded",
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

TEST_CASE("a session of somebody who may do nothing opens neither hooks nor stats") {
  Rest rest;
  rest.check({{"POST /hook", "X-Auth-Token: NOBODY", "{}", 401, ""},
              {"GET /stats", "X-Auth-Token: NOBODY", "", 401, ""},
              {"POST /hook", kWith, "{}", 200, R"({"success": true})"}});
}

TEST_CASE("hooks may be open, and elsewhere") {
  netapi::RestCherrypyOptions options;
  options.webhook_disable_auth = true;
  options.webhook_url = "/a/b";
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(options, master);
  rest.check({{"POST /a/b/c", "", "{}", 200, R"({"success": true})"}, {"POST /hook", "", "{}", 404, ""}});
  CHECK(master->fired().at(0).starts_with("salt/netapi/hook/c {"));
}

TEST_CASE("stats are counted") {
  netapi::RestCherrypyOptions options;
  options.stats_disable_auth = true;
  options.collect_stats = true;
  Rest rest(options);
  rest.check(
      {{"GET /", "", "", 200, ""},
       {"GET /stats", "", "", 200,
        R"({"CherryPy Applications": {"Enabled": true, "Start Time": "<number>", "Current Time": "<number>", "Uptime": "<number>",
                   "Total Requests": 2, "Current Requests": 1, "Requests": {"/": {"Count": 1}}},
                   "Cheroot HTTPServer": {"Enabled": true, "Requests": 2, "Bytes Read": 0, "Bytes Written": "<number>", "Errors": 0}})"}});
  Rest closed;
  closed.check({"GET /stats", "", "", 401, ""});
}

TEST_CASE("POST /keys gives an archive with both keys, once") {
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
              R"({"status": 409, "return": "There is a key of 'jerry' already."})"});
  master->wheel_data = R"({"success": false, "return": "It went wrong."})";
  const char* const kWhy =
      R"({"status": 400, "return": "<has>The master could not do this; the log says why (reference "})";
  rest.check(
      {{"POST /keys", "", R"({CRED, "mid": "jerry"})", 400, kWhy}, {"GET /keys", kWith, "", 400, kWhy}});
  CHECK(rest.log().has("It went wrong."));
}

TEST_CASE("static files are served whole, in part, and not again, and none from elsewhere") {
  const TempDir dir;
  const std::string outside = dir.write("secret.txt", "secret");
  std::filesystem::create_directories(dir.path() / "www/sub");
  dir.write("www/index.html", "<h1>hi</h1>");
  dir.write("www/a b.txt", "0123456789");
  dir.write("www/sub/index.html", "sub");
  std::filesystem::create_symlink(outside, dir.path() / "www/out.txt");
  std::filesystem::create_symlink("a b.txt", dir.path() / "www/in.txt");
  std::filesystem::create_symlink("/etc", dir.path() / "www/etc");
  REQUIRE(::mkfifo((dir / "www/pipe").c_str(), 0600) == 0);
  netapi::RestCherrypyOptions options;
  options.static_root = dir / "www";
  Rest rest(options);
  const auto file = rest.ask({"GET /static/a%20b.txt", "", "", 200, ""});
  const std::string changed = header(file, "Last-Modified");
  rest.check({{"GET /static/a%20b.txt", "", "", 200, "0123456789",
               "Content-Type: text/plain;charset=utf-8 | Accept-Ranges: bytes"},
              {"GET /static/a%20b.txt", "Accept: application/nonsense", "", 200, "0123456789"},
              {"GET /static/a%20b.txt", "Range: bytes=2-4", "", 206, "234", "Content-Range: bytes 2-4/10"},
              {"GET /static/a%20b.txt", "Range: bytes=8-", "", 206, "89", "Content-Range: bytes 8-9/10"},
              {"GET /static/a%20b.txt", "Range: bytes=-3", "", 206, "789", "Content-Range: bytes 7-9/10"},
              {"GET /static/a%20b.txt", "Range: bytes=5-99", "", 206, "56789", "Content-Range: bytes 5-9/10"},
              {"GET /static/a%20b.txt", "Range: bytes=10-", "", 416, "", "Content-Range: bytes */10"},
              {"GET /static/a%20b.txt", "Range: bytes=-0", "", 416, ""},
              {"GET /static/a%20b.txt", "Range: bytes=4-2", "", 200, "0123456789"},
              {"GET /static/a%20b.txt", "Range: bytes=0-1,3-4", "", 200, "0123456789"},
              {"GET /static/a%20b.txt", "Range: lines=1-2", "", 200, "0123456789"},
              {"GET /static/a%20b.txt", "Range: bytes=2-4 | If-Range: " + changed, "", 206, "234"},
              {"GET /static/a%20b.txt", "Range: bytes=2-4 | If-Range: Sun, 06 Nov 1994 08:49:37 GMT", "", 200,
               "0123456789"},
              {"GET /static/a%20b.txt", "If-Modified-Since: " + changed, "", 304, "", "-Content-Type"},
              {"GET /static/a%20b.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "", 200, ""},
              {"GET /static/a%20b.txt", "If-Modified-Since: nonsense", "", 200, ""},
              {"GET /static/in.txt", "", "", 200, "0123456789"},
              {"GET /static/", "", "", 200, "<h1>hi</h1>", "Content-Type: text/html;charset=utf-8"},
              {"GET /static", "", "", 301, "", "Location: /static/"},
              {"GET /static/sub", "", "", 301, "", "Location: /static/sub/"},
              {"GET /static/sub/", "Accept: text/html", "", 200, "sub"},
              {"GET /static/out.txt", "", "", 404, ""},
              {"GET /static/etc/passwd", "", "", 404, ""},
              {"GET /static/pipe", "", "", 404, ""},
              {"GET /static/nosuch", "", "", 404, ""},
              {"GET /static/a%20b.txt/x", "", "", 404, ""},
              {"GET /static/../secret.txt", "", "", 403, ""},
              {"GET /static/%2e%2e/secret.txt", "", "", 403, ""},
              {"GET /static/..%2fsecret.txt", "", "", 403, ""},
              {"GET /static/sub/../../secret.txt", "", "", 403, ""},
              {"POST /static/in.txt", "", "", 405, ""}});
}

TEST_CASE("a large file is a stream that says its length") {
  const TempDir dir;
  const std::string content(200000, 'x');
  dir.write("large.bin", content);
  netapi::RestCherrypyOptions options;
  options.static_root = dir.path();
  Rest rest(options);
  rest.check({"GET /static/large.bin", "", "", 200, "a stream",
              "Content-Length: 200000 | Content-Type: application/octet-stream"});
  CHECK(whole(rest.ask({"GET /static/large.bin", "", "", 200, ""})) == content);
  CHECK(whole(rest.ask({"GET /static/large.bin", "Range: bytes=1000-150999", "", 206, ""})).size() == 150000);
}

TEST_CASE("a file that becomes shorter while it is sent ends the reply") {
  const TempDir dir;
  const std::string path = dir.write("large.bin", std::string(200000, 'x'));
  netapi::RestCherrypyOptions options;
  options.static_root = dir.path();
  Rest rest(options);
  http::Response response = rest.ask({"GET /static/large.bin", "", "", 200, ""});
  auto& stream = std::get<std::unique_ptr<http::Stream>>(response.body);
  CHECK(stream->next());
  REQUIRE(::truncate(path.c_str(), 10) == 0);
  CHECK_FALSE(stream->next());
}

TEST_CASE("the file of app is for browsers, wherever they look, and for nobody else") {
  const TempDir dir;
  netapi::RestCherrypyOptions options;
  options.app = dir.write("gui.html", "GUI");
  options.favicon = dir.write("favicon.ico", "ICON");
  Rest rest(options);
  const std::string browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8";
  rest.check({{"GET /app", "", "", 200, "GUI", "Content-Type: text/html;charset=utf-8 | Allow: GET, HEAD"},
              {"GET /app/x/y?z=1", "", "", 200, "GUI"},
              {"GET /", browser, "", 200, "GUI"},
              {"GET /minions", browser, "", 200, "GUI"},
              {"GET /nosuch", browser, "", 200, "GUI"},
              {"GET /favicon.ico", browser, "", 200, "ICON", "Content-Type: image/x-icon"},
              {"GET /", "", "", 200, "Welcome"},
              {"GET /", "Accept: application/json, text/html;q=0.5", "", 200, "Welcome"},
              {"GET /nosuch", "", "", 404, ""},
              {"POST /run", browser, "[]", 200, R"({"return": []})"},
              {"POST /run", "Accept: text/html", "[]", 406, ""},
              {"POST /run", "", "[]", 200, R"({"return": []})"}});
}

TEST_CASE("without an app, browsers get a page of ours, which uses nothing but itself") {
  Rest rest;
  for (const char* const path : {"GET /", "GET /login", "HEAD /"}) {
    const auto page = rest.ask({path, "Accept: text/html,application/xhtml+xml,*/*;q=0.8", "", 200, ""});
    CHECK(page.status == http::Status::ok);
    CHECK(header(page, "Content-Type") == "text/html;charset=utf-8");
    const std::string policy = header(page, "Content-Security-Policy");
    CHECK(policy.starts_with("default-src 'none'; script-src 'nonce-"));
    const std::string nonce = policy.substr(policy.find("nonce-") + 6, 32);
    CHECK(page.text().find("<script nonce=\"" + nonce + "\">") != std::string::npos);
    CHECK(page.text().find("<style nonce=\"" + nonce + "\">") != std::string::npos);
    CHECK(page.text().find("data-base=\"\"") != std::string::npos);
    CHECK(page.text().find("data-user=\"\"") != std::string::npos);
    CHECK(header(page, "Cache-Control") == "no-store");
    for (const char* const never :
         {"@NONCE@", "@BASE@", "@USER@", " src=", " onclick", " style=", "innerHTML"}) {
      CHECK_MESSAGE(page.text().find(never) == std::string::npos, never);
    }
    const auto again = rest.ask({path, "Accept: text/html", "", 200, ""});
    CHECK(header(again, "Content-Security-Policy") != policy);
  }
  rest.check({{"POST /", "X-Auth-Token: TOKEN | Accept: text/html", "[]", 406, ""},
              {"GET /", "Cookie: session_id=TOKEN | Accept: text/html", "", 200, "data-user=\"fred\""},
              {"GET /", "Cookie: session_id=TOKEN | Accept: text/html | Sec-Fetch-Site: cross-site", "", 200,
               "data-user=\"fred\""},
              {"GET /", "Cookie: session_id=abc | Accept: text/html", "", 200, "data-user=\"\""}});
}

TEST_CASE("what is nested as deeply as is allowed, or more, needs no large stack") {
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
  auto thread = Thread::start("small", ask_all, kSmallStack);
  REQUIRE(thread);
  thread->join();
}

TEST_CASE("what was returned is packed for who takes it") {
  Rest rest;
  const auto plain = rest.ask({"GET /minions", kWith, "", 200, ""});
  REQUIRE(plain.text().size() > 1024);
  const auto packed = rest.ask({"GET /minions", "X-Auth-Token: TOKEN | Accept-Encoding: gzip", "", 200, ""});
  CHECK(header(packed, "Content-Encoding") == "gzip");
  CHECK(packed.text().size() < plain.text().size());
}

TEST_CASE("a master that is not there is 503, and what ran before is kept") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  master->on_start = [](const std::string& what) -> std::optional<Error> {
    if (what != "runner") return std::nullopt;
    return Error{ErrorKind::unavailable, "Salt Master is not available.", {}};
  };
  rest.check(
      {{"GET /jobs", kWith, "", 503, R"({"status": 503, "return": "Salt Master is not available."})",
        "Retry-After: 1"},
       {"POST /", kWith,
        R"([{"client": "local", "tgt": "*", "fun": "test.ping"}, {"client": "runner", "fun": "manage.up"}])",
        503,
        R"({"status": 503, "return": "Salt Master is not available.", "completed": [{"jid": "<jid>", "return": {"ms-0": true, "ms-1": true, "ms-2": true}}]})"}});
}

TEST_CASE("a runner that takes too long is 504, with its job") {
  const auto master = std::make_shared<FakeMaster>();
  master->on_runner = [](auto) {};
  Rest rest(netapi::RestCherrypyOptions{}, master);
  rest.check({"POST /", kWith, R"({"client": "runner", "fun": "test.sleep", "timeout": 0})", 504,
              R"({"status": 504, "return": "<has>timed out", "jid": "<jid>"})"});
}

TEST_CASE("no secret of a request is in the log, whatever becomes of it") {
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
            rest.ask({std::string("POST ") + path, secrets + " | Content-Type: " + type, body, 0, ""}));
      }
    }
  }
  CHECK(rest.log().has("info 401 for 192.0.2.7"));
  CHECK_FALSE(rest.log().has("hidden"));
}

TEST_CASE("an exception is an error of ours with a reference") {
  const auto master = std::make_shared<FakeMaster>();
  master->on_fire = [](std::string_view) -> std::optional<Error> { throw std::runtime_error("surprise"); };
  Rest rest(netapi::RestCherrypyOptions{}, master);
  rest.check({"POST /hook", kWith, "{}", 500,
              R"({"status": 500, "return": "<has>An unexpected error occurred (reference "})"});
  CHECK(rest.log().has("surprise"));
}
