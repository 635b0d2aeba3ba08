// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "rest.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

namespace {

constexpr const char* kNoSession =
    R"({"status": 401, "return": "No permission -- see authorization schemes"})";
constexpr const char* kNoSuchUri = R"({"status": 404, "return": "Nothing matches the given URI"})";
const std::string kWelcome =
    R"({"return": "Welcome", "clients": ["local", "local_async", "local_batch", "local_subset", "runner", )"
    R"("runner_async", "wheel", "wheel_async"]})";

}  // namespace

TEST_CASE("GET / of rest_cherrypy returns the clients in the accepted form") {
  Rest rest;
  rest.check({
      {"GET /", "", "", 200, kWelcome,
       "Content-Type: application/json | Allow: GET, HEAD, POST | -Set-Cookie"},
      {"GET /", "Accept: application/x-yaml", "", 200, "clients:\n- local\n",
       "Content-Type: application/x-yaml"},
      {"GET /", "Accept: text/plain", "", 406,
       R"({"status": 406, "return": "Your client sent this Accept header: text/plain. But this resource only )"
       R"(emits these media types: application/json, application/x-yaml."})"},
      {"GET /?a=b", "", "", 200, kWelcome},
      {"GET //", "", "", 200, kWelcome},
      {"GET /index/", "", "", 200, kWelcome},
  });
}

TEST_CASE("rest_cherrypy answers unknown paths with 404 and wrong methods with 405") {
  Rest rest;
  rest.check({
      {"GET /nosuch", "", "", 404, R"({"status": 404, "return": "The path '/nosuch' was not found."})",
       "-Allow"},
      {"GET /static/x", "", "", 404, ""},
      {"DELETE /", "", "", 405,
       R"({"status": 405, "return": "Specified method is invalid for this resource"})",
       "Allow: GET, HEAD, POST"},
      {"GET /hook/%0a", "", "", 400, R"({"status": 400, "return": "The path has control characters."})"},
      {"GET /nosuch", "Accept: application/x-yaml", "", 404, "status: 404\n"},
      {"GET /nosuch", "Accept: text/html,*/*;q=0.8", "", 404, "<h2>404 Not Found</h2>",
       "Content-Type: text/html;charset=utf-8"},
      {"GET /<script>", "Accept: text/html", "", 404, "&lt;script&gt;"},
      {"GET /RUN", "", "", 404, ""},
      {"GET /login/x", "", "", 404, kNoSuchUri},
      {"POST /token/x", "", "[]", 404, kNoSuchUri},
      {"GET /minions/a/b", kWith, "", 404, kNoSuchUri},
      {"POST /minions/x", kWith, "[]", 404, kNoSuchUri},
  });
}

TEST_CASE("a missing session is reported before any other error") {
  Rest rest;
  const std::vector<std::string> methods{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "FOO"};
  for (const std::string path : {"/minions", "/minions/a/b", "/jobs", "/jobs/1", "/hook", "/hook/a", "/stats",
                                 "/stats/x", "/logout", "/logout/x"}) {
    for (const std::string& method : methods) rest.check({method + " " + path, "", "", 401, ""});
  }
  rest.check({
      {"POST /", "Content-Type: text/xml", "<a/>", 401, kNoSession},
      {"POST /minions", "Accept: text/html", "[]", 401, ""},
      {"POST /hook", "Content-Encoding: gzip", "[]", 401, ""},
      {"PUT /minions", kWith, "", 405, ""},
      {"PUT /hook", "X-Auth-Token: NOBODY", "", 401, ""},
      {"DELETE /keys", "", "", 405, ""},
  });
  Rest(netapi::RestCherrypyOptions{.webhook_disable_auth = true}).check({"GET /hook", "", "", 405, ""});
  Rest(netapi::RestCherrypyOptions{.max_request_body_size = 3})
      .check({{"POST /", "", "[{}, {}]", 401, ""}, {"POST /", kWith, "[{}, {}]", 413, ""}});
}

TEST_CASE("fields without a value are ignored") {
  const std::string form = "Content-Type: application/x-www-form-urlencoded";
  const std::string call =
      "client=local&tgt=*&fun=test.ping&username=fred&password=secret&eauth=sharedsecret";
  const std::vector<Row> rows{
      {"POST /run", form, call + "&timeout=&tgt_type=&arg=&kwarg=&token=&jid=", 200, kPong},
      {"POST /run", "",
       R"({CRED, "client": "local", "tgt": "*", "fun": "test.ping", "expr_form": "", "token": null, "arg": []})",
       200, kPong}};
  Rest(netapi::RestTornadoOptions{}).check(rows);
  Rest rest;
  rest.check(rows);
  rest.check({
      {"POST /run", form, call + "&timeout=&timeout=5", 200, kPong},
      {"POST /run", form, "client=runner&fun=test.arg&a=&username=fred&password=secret&eauth=sharedsecret",
       200, R"({"return": [{"args": [], "kwargs": {}}]})"},
      {"POST /run", form, call + "&metadata={a: 1}", 200, kPong},
      {"POST /run", form, "client=local&tgt=&fun=test.ping&username=fred&password=secret&eauth=sharedsecret",
       400, R"({"status": 400, "return": "<has>'tgt' is missing"})"},
      {"POST /run", form, "client=local&tgt=*&fun=test.ping&username=fred&password=&eauth=sharedsecret", 401,
       ""},
      {"POST /login", form, "username=fred&password=&eauth=sharedsecret", 401, ""},
      {"POST /login", "", R"({"username": "fred", "password": null, "eauth": "sharedsecret"})", 401, ""},
      {"POST /minions", kWith, R"({"client": "", "tgt": "*", "fun": "test.ping", "kwarg": []})", 202, ""},
      {"POST /keys", "", R"({CRED, "mid": "jerry", "keysize": "", "force": null})", 200, ""},
      {"POST /hook", "X-Auth-Token: TOKEN | " + form, "a=1&b=", 200, ""},
  });
}

TEST_CASE("raw_shell is refused for every value that is true in Python") {
  Rest rest;
  const auto chunk = [](const std::string& value) {
    return R"({CRED, "client": "local", "tgt": "*", "fun": "test.ping", "raw_shell": )" + value + "}";
  };
  for (const std::string value : {"false", "null", "0", "0.0", "\"\"", "[]", "{}"}) {
    rest.check({"POST /run", "", chunk(value), 200, kPong});
  }
  for (const std::string value : {"true", "1", "\"false\"", "[0]"})
    rest.check({"POST /run", "", chunk(value), 401, ""});
}

TEST_CASE("a Content-Encoding that changes the bytes is refused") {
  std::vector<Row> rows;
  for (const std::string coding :
       {"gzip", "x-gzip", "GZip", "deflate", "br", "compress", "zstd", "identity, gzip", "utf-8 ,\tbr"}) {
    rows.push_back({"POST /", "X-Auth-Token: TOKEN | Content-Encoding: " + coding, "[]", 415, ""});
  }
  for (const std::string coding : {"UTF-8", "identity", "identity, UTF-8", "aes128gcm", "none", ","}) {
    rows.push_back(
        {"POST /", "X-Auth-Token: TOKEN | Content-Encoding: " + coding, "[]", 200, R"({"return": []})"});
  }
  Rest(netapi::RestTornadoOptions{}).check(rows);
  Rest().check(rows);
}

TEST_CASE("POST / runs chunks with the session's credentials") {
  Rest rest;
  rest.check({
      {"POST /", "", kPing, 401, kNoSession, "WWW-Authenticate: Session | -Set-Cookie"},
      {"POST /", "Accept: application/x-yaml", kPing, 401,
       "return: No permission -- see authorization schemes\n"},
      {"POST /", "X-Auth-Token: 0000 | Cookie: session_id=TOKEN", kPing, 401, kNoSession},
      {"POST /", "X-Auth-Token: ../../x", kPing, 401, kNoSession},
      {"POST /", "Authorization: Bearer TOKEN", kPing, 401, kNoSession},
      {"POST /", kWith, kPing, 200, kPong, "Cache-Control: private | -Set-Cookie"},
      {"POST /?x=y", "Cookie: a=b; session_id=TOKEN", kPing, 200, kPong},
      {"POST /", kWith,
       R"([{"username": "eve", "password": "bad", "eauth": "x", "client": "local", "tgt": "*", "fun": "test.ping"}])",
       200, kPong},
      {"POST /", kWith, R"({"password": "x", "token": 5, "client": "runner", "fun": "test.arg"})", 200,
       R"({"return": [{"args": [], "kwargs": {}}]})"},
      {"POST /", kWith, R"({"client": "local", "tgt": "*", "fun": "test.ping", "raw_shell": true})", 401,
       R"({"status": 401, "return": "Raw shell option not allowed."})"},
      {"POST /", kWith, R"({"client": "local", "tgt": "role:web", "fun": "test.ping", "expr_form": "grain"})",
       200, R"({"return": [{"ms-0": true, "ms-1": true}]})"},
      {"POST /", kWith,
       R"([{"client": "local", "tgt": "ms-0", "fun": "test.ping"}, {"client": "runner", "fun": "manage.up"}])",
       200, R"({"return": [{"ms-0": true}, ["ms-0", "ms-1", "ms-2"]]})"},
      {"POST /", "X-Auth-Token: NOBODY", kPing, 401,
       R"({"status": 401, "return": "Authorization error occurred."})"},
      {"POST /", "X-Auth-Token: NOBODY", R"({"client": "runner", "fun": "manage.up"})", 401,
       R"({"status": 401, "return": "Authentication failure of type \"token\" occurred for user eve."})"},
      {"POST /", "X-Auth-Token: TOKEN | Accept: text/html", kPing, 406, ""},
      // The embedded engine accepts only jids of 20 digits.
      {"POST /", kWith, R"({"client": "local", "tgt": "*", "fun": "test.ping", "jid": "my-job"})", 400,
       R"({"status": 400, "return": "<has>Lowstate chunk 0: 'jid'"})"},
      {"POST /", kWith,
       R"({"client": "local_async", "tgt": "*", "fun": "test.ping", "jid": "20261120230610043746"})", 200,
       R"({"return": [{"jid": "20261120230610043746", "minions": "<any>"}]})"},
  });
  CHECK_FALSE(rest.log().has(rest.token("eve").substr(0, 20)));
}

TEST_CASE("a form with an ambiguous or malformed field is refused") {
  Rest rest;
  const auto form = [](const std::string& body, const std::string& value) {
    return Row{"POST /", "X-Auth-Token: TOKEN | Content-Type: application/x-www-form-urlencoded", body, 400,
               value};
  };
  rest.check({
      form("client=local&tgt=ms-0&fun=test.ping&kwarg=abc",
           R"({"status": 400, "return": "<has>'kwarg' must be"})"),
      form("client=local&tgt=ms-0&fun=test.ping&fun=test.ping",
           R"({"status": 400, "return": "<has>'fun' is in the form more than once"})"),
      form("client=local&tgt=\xff&fun=test.ping", R"({"status": 400, "return": "<has>Not UTF-8"})"),
  });
}

TEST_CASE("login creates a session and logout ends it") {
  Rest rest;
  const char* const kLogin =
      R"({"return": [{"token": "<token>", "expire": "<number>", "start": "<number>", "user": "fred", "eauth": "sharedsecret", "perms": "<any>"}]})";
  const char* const kBad =
      R"({"status": 401, "return": "Could not authenticate using provided credentials"})";
  rest.check({
      {"GET /login", "", "", 200, R"({"status": 200, "return": "Please log in"})",
       "WWW-Authenticate: Session | -Set-Cookie"},
      {"POST /login", "", "{CRED}", 200, kLogin, "Cache-Control: no-store"},
      {"POST /login/", "", R"({"username": "fred", "sharedsecret": "secret", "eauth": "sharedsecret"})", 200,
       kLogin},
      {"POST /login", "Accept: text/html", "{CRED}", 406, "", "-X-Auth-Token | -Set-Cookie"},
      {"POST /login", "", R"({"username": "fred", "password": "wrong", "eauth": "sharedsecret"})", 401, kBad,
       "-Set-Cookie"},
      {"POST /login", "", R"({"username": 5, "password": "secret", "eauth": "sharedsecret"})", 401,
       R"({"status": 401, "return": "<has>'username'"})"},
      {"POST /login", "", R"({"username": "fred", "password": "secret", "eauth": ""})", 401,
       R"({"status": 401, "return": "<has>'eauth'"})"},
      {"POST /login", "Content-Type: application/x-www-form-urlencoded",
       "user=fred&password=secret&eauth=pam", 401, R"({"status": 401, "return": "<has>'username'"})"},
      {"POST /login", "Content-Type: application/x-www-form-urlencoded", "{CRED}", 401,
       R"({"status": 401, "return": "<has>Content-Type: application/json"})"},
      {"POST /run", "Content-Type: application/x-www-form-urlencoded", "\xEF\xBB\xBF [{CRED}]", 400,
       R"({"status": 400, "return": "<has>Content-Type: application/json"})"},
      {"POST /token", "Content-Type: application/x-www-form-urlencoded", "{CRED}", 400,
       R"({"status": 400, "return": "<has>Content-Type: application/json"})"},
      {"POST /login", "", "\xEF\xBB\xBF{CRED}", 200, kLogin},
      {"POST /login?username=fred&password=secret&eauth=sharedsecret", "", "", 400, ""},
      {"POST /logout", "", "", 401, kNoSession},
      {"POST /logout", "X-Auth-Token: TOKEN | Accept: text/html", "", 406, ""},
      {"POST /logout", "X-Auth-Token: TOKEN", "[[[no json", 200,
       R"({"return": "Your token has been cleared"})"},
      {"POST /logout", "X-Auth-Token: TOKEN", "", 401, kNoSession},
      {"POST /", "X-Auth-Token: TOKEN", "[]", 401, kNoSession},
      {"POST /login", "", R"({"username": "fred", "eauth": "sharedsecret"})", 401,
       R"({"status": 401, "return": "<has>'password'"})"},
      {"POST /login", "", "{}", 401, R"({"status": 401, "return": "<has>'username'"})"},
  });
}

TEST_CASE("an unavailable master is reported with 503 and Retry-After, also to a login") {
  const auto master = std::make_shared<FakeMaster>();
  Rest rest(netapi::RestCherrypyOptions{}, master);
  master->on_start = [](const std::string& what) -> std::optional<Error> {
    if (what != "runner") return std::nullopt;
    return Error{ErrorKind::unavailable, "Salt Master is not available.", {}};
  };
  rest.check({"GET /jobs", kWith, "", 503, R"({"status": 503, "return": "Salt Master is not available."})",
              "Retry-After: 1"});
  master->on_session = [](SteadyTime) { return Error{ErrorKind::unavailable, "The master is away.", {}}; };
  rest.check({"POST /login", "", "{CRED}", 503, R"({"status": 503, "return": "<has>The master is away."})",
              "-Set-Cookie"});
}

TEST_CASE("the session cookie is HttpOnly and SameSite, and logout deletes it") {
  Rest rest;
  const auto login = rest.call({"POST /login", "Https: on", "{CRED}", 200, ""});
  const std::string token = header(login, "X-Auth-Token");
  const std::string cookie = header(login, "Set-Cookie");
  CHECK(cookie.starts_with("session_id=" + token + "; expires="));
  CHECK(cookie.find("; Max-Age=43") != std::string::npos);
  CHECK(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax; Secure"));
  const auto again = rest.call({"POST /login", "Cookie: session_id=" + token, "{CRED}", 200, ""});
  CHECK(header(again, "X-Auth-Token") != token);
  CHECK(header(again, "Set-Cookie").ends_with("; SameSite=Lax"));
  const auto logout = rest.call({"POST /logout", "Cookie: session_id=" + token, "", 200, ""});
  CHECK(header(logout, "Set-Cookie").starts_with("session_id=; expires="));
  CHECK(header(logout, "Set-Cookie").find("; Max-Age=0; ") != std::string::npos);
  CHECK_FALSE(rest.log().has(token));
  CHECK(rest.log().has("fun=login tgt=- jid=- outcome=ok"));
  CHECK(rest.log().has("fun=logout tgt=- jid=- outcome=ok"));
}

TEST_CASE("a malformed token_expire is refused only for users who may choose it") {
  netapi::RestCherrypyOptions options;
  options.common.token_life.users = {{"sharedsecret", "joe"}, {"pam", "fred"}};
  Rest rest(options);
  const std::string joe = R"({"username": "joe", "password": "secret", "eauth": "sharedsecret", )";
  for (const std::string life : {"0", "\"soon\"", "true", "\"nan\""}) {
    for (const std::string path : {"/token", "/login"}) {
      const std::string field = "\"token_expire\": " + life + "}";
      rest.check({"POST " + path, "", "{CRED, " + field, 200, ""});
      rest.check({"POST " + path, "", joe + field, 400,
                  R"({"status": 400, "return": "<has>'token_expire' must be"})"});
      rest.check({"POST " + path, "",
                  R"({"username": "joe", "password": "x", "eauth": "sharedsecret", )" + field, 401, ""});
    }
  }
  CHECK(rest.log().has("user=joe eauth=sharedsecret"));
  CHECK(rest.log().has("outcome=invalid"));
  rest.check({"POST /token", "", "[{CRED}, " + joe + R"("token_expire": -1}])", 400,
              R"({"status": 400, "return": "<has>'token_expire' must be"})"});
}

TEST_CASE("POST /token creates tokens without a session") {
  Rest rest;
  const char* const kParams =
      R"({"status": 400, "return": "Require \"username\", \"password\", and \"eauth\" params"})";
  const char* const kToken =
      R"({"start": "<number>", "expire": "<number>", "name": "fred", "eauth": "sharedsecret", "token": "<token>"})";
  const std::string one = std::string("[") + kToken + "]";
  for (const std::string life : {"5", "\"5\"", "\" 5 \"", "0.5", "1e12", "null", "\"\""}) {
    rest.check({"POST /token", "", "{CRED, \"token_expire\": " + life + "}", 200, one});
    rest.check({"POST /login", "", "{CRED, \"token_expire\": " + life + "}", 200, ""});
  }
  rest.check({
      {"POST /token", "", "{CRED}", 200, one, "-Set-Cookie | -X-Auth-Token | Cache-Control: no-store"},
      {"POST /token", "", "[{CRED}, {CRED}]", 200, std::string("[") + kToken + ", " + kToken + "]"},
      {"POST /token", "", "[{CRED}, 5]", 400, kParams},
      {"POST /token", "", R"([{CRED}, {"username": "fred", "password": "bad", "eauth": "sharedsecret"}])",
       401,
       R"({"status": 401, "return": "Authentication failure of type \"eauth\" occurred for user fred."})"},
      {"POST /token", "", "", 400, ""},
      {"POST /token", "", "[]", 200, "[]"},
      {"POST /token", "", "\"a\"", 400, ""},
  });
}

TEST_CASE("POST /run uses only the credentials of each chunk") {
  Rest rest;
  const auto chunk = [](const std::string& members) {
    return "[{" + members + R"(, "client": "local", "tgt": "*", "fun": "test.ping"}])";
  };
  const auto runner = [](const std::string& members) {
    return "[{" + members + R"(, "client": "runner", "fun": "manage.up"}])";
  };
  const char* const kInvalid = R"({"status": 401, "return": "Invalid token"})";
  const char* const kBad = R"({"status": 401, "return": "Authentication error occurred."})";
  const std::string wrong = R"("username": "fred", "password": "bad", "eauth": "sharedsecret")";
  const std::string unknown(64, 'a');
  rest.check({
      {"POST /run", "", chunk("CRED"), 200, kPong, "Cache-Control: no-store | -Set-Cookie"},
      {"POST /run", "", chunk(R"("token": "TOKEN")"), 200, kPong},
      {"POST /run", kWith, kPing, 401, R"({"status": 401, "return": "No authentication credentials given"})"},
      {"POST /run", "Cookie: session_id=TOKEN", kPing, 401, ""},
      {"POST /run", "", chunk(R"("token": null)"), 401, kInvalid},
      {"POST /run", "", chunk("\"token\": \"" + unknown + "\""), 401, kBad},
      {"POST /run", "", runner("\"token\": \"" + unknown + "\""), 401,
       R"({"status": 401, "return": "Authentication failure of type \"token\" occurred."})"},
      {"POST /run", "", chunk(R"("token": "NOBODY")"), 401,
       R"({"status": 401, "return": "Authorization error occurred."})"},
      {"POST /run", "Accept: text/html", chunk("CRED"), 406, ""},
      {"POST /run", "", runner(wrong), 401,
       R"({"status": 401, "return": "Authentication failure of type \"eauth\" occurred for user fred."})"},
  });
}

TEST_CASE("disabled clients are refused, except for URLs with fixed calls") {
  client::Options none;
  Rest rest(netapi::RestCherrypyOptions{}, none);
  const auto disabled = [](const std::string& client) {
    return R"({"status": 400, "return": "Client disabled: ')" + client +
           R"('. Add to 'netapi_enable_clients' master config option to enable."})";
  };
  rest.check({{"POST /", kWith, kPing, 400, disabled("local")},
              {"GET /minions/ms-0", kWith, "", 200, R"({"return": [{"ms-0": "<any>"}]})"},
              {"GET /jobs", kWith, "", 200, ""},
              {"GET /keys", kWith, "", 200, ""},
              {"POST /token", "", "{CRED}", 200, ""},
              {"POST /minions", kWith, R"({"tgt": "*", "fun": "test.ping"})", 400, disabled("local_async")}});
}

TEST_CASE("/minions returns grains and starts jobs") {
  Rest rest;
  rest.check({
      {"GET /minions", kWith, "", 200, R"({"return": [{"ms-0": "<any>", "ms-1": "<any>", "ms-2": "<any>"}]})",
       "Cache-Control: private"},
      {"GET /minions/ms%2D0/", kWith, "", 200, R"({"return": [{"ms-0": "<any>"}]})"},
      {"GET /minions", "X-Auth-Token: NOBODY", "", 401,
       R"({"status": 401, "return": "Authorization error occurred."})"},
      {"POST /minions", kWith, R"([{"tgt": "*", "fun": "test.ping"}])", 202,
       R"({"return": [{"jid": "<jid>", "minions": ["ms-0", "ms-1", "ms-2"]}], "_links": {"jobs": [{"href": "<has>/jobs/2"}]}})"},
      {"POST /minions", kWith, R"({"tgt": "*", "fun": "test.ping", "client": "runner"})", 202, ""},
      {"POST /minions", "X-Auth-Token: TOKEN | Accept: text/html", R"({"tgt": "*", "fun": "test.ping"})", 406,
       ""},
      {"GET /minions/ms-[01]", kWith, "", 200, R"({"return": [{"ms-0": "<any>", "ms-1": "<any>"}]})"},
      {"GET /minions?mid=ms-0&x=1", kWith, "", 200, R"({"return": [{"ms-0": "<any>"}]})"},
      {"POST /minions", kWith, R"({"tgt": "nobody", "fun": "test.ping"})", 202,
       R"({"return": [{}], "_links": {"jobs": []}})"},
      {"POST /minions", kWith, "[]", 202, R"({"return": [], "_links": {"jobs": []}})"},
  });
}

TEST_CASE("/jobs lists jobs from newest to oldest and returns one job") {
  Rest rest;
  const auto started = rest.call(
      {"POST /", kWith, R"({"client": "local", "tgt": "ms-0", "fun": "test.echo", "arg": ["hi"]})", 200, ""});
  CHECK(started.status == http::Status::ok);
  const auto listed = rest.call({"GET /jobs", kWith, "", 200, ""});
  const std::size_t at = listed.text().find("\"20");
  REQUIRE(at != std::string::npos);
  const std::string jid = listed.text().substr(at + 1, 20);
  rest.check({
      {"GET /jobs", "X-Auth-Token: JOE", "", 200, ""},
      {"GET /jobs", "X-Auth-Token: NOBODY", "", 401,
       R"({"status": 401, "return": "Authentication failure of type \"token\" occurred for user eve."})"},
      {"GET /jobs/" + jid, kWith, "", 200,
       R"({"info": [{"jid": "<jid>", "Function": "test.echo", "Arguments": ["hi"], "Target": "ms-0", "Target-type": "glob", "User": "fred", "Minions": ["ms-0"], "StartTime": "<any>", "Result": {"ms-0": {"return": "hi", "retcode": 0, "success": true}}}], "return": [{"ms-0": "hi"}]})"},
  });
  CHECK(
      rest.call({"POST /", kWith, R"({"client": "local_async", "tgt": "ms-1", "fun": "test.ping"})", 200, ""})
          .status == http::Status::ok);
  const std::string later = rest.call({"GET /jobs", kWith, "", 200, ""}).text();
  CHECK(later.find("ms-1") < later.find(jid));
}

TEST_CASE("/keys lists keys and refuses requests without permission") {
  Rest rest;
  rest.check({
      {"GET /keys", kWith, "", 200,
       R"({"return": {"minions": ["ms-0", "ms-1", "ms-2"], "minions_pre": [], "minions_rejected": [], "minions_denied": [], "local": "<any>"}})",
       "Cache-Control: no-store"},
      {"GET /keys/ms-0", kWith, "", 200, R"({"return": {"minions": {"ms-0": "<any>"}}})"},
      {"GET /keys", "X-Auth-Token: NOBODY", "", 401, ""},
      {"GET /keys", "", "", 401, ""},
      {"POST /keys", "", R"({"mid": "jerry"})", 401,
       R"({"status": 401, "return": "No authentication credentials given"})"},
      {"POST /keys", "",
       R"({"mid": "jerry", "username": "fred", "password": "bad", "eauth": "sharedsecret"})", 401, ""},
      {"POST /keys", "",
       R"({"mid": "jerry", "username": "eve", "password": "secret", "eauth": "sharedsecret"})", 401, ""},
      {"POST /keys", "", R"({CRED, "mid": "a\"; x=b"})", 400, ""},
      {"POST /keys", "", "", 400, ""},
      {"POST /keys", "", "{CRED}", 400, "mid"},
  });
}

TEST_CASE("the credentials of a chunk have the time at which the request began") {
  const auto master = std::make_shared<FakeMaster>();
  const SteadyTime before = system_clock().steady();
  SteadyTime received = SteadyTime::max();
  master->on_admit = [&](const lowstate::Chunk& chunk) -> std::optional<Error> {
    received = chunk.credentials.request_start;
    return std::nullopt;
  };
  Rest rest(netapi::RestCherrypyOptions{}, master);
  CHECK(
      rest.call({"POST /run", "", R"([{CRED, "client": "local", "tgt": "*", "fun": "test.ping"}])", 200, ""})
          .status == http::Status::ok);
  CHECK(received >= before);
  CHECK(received <= system_clock().steady());
}
