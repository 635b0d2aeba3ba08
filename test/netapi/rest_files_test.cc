// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "rest.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;

TEST_CASE("static files support conditional requests, and stay below the folder") {
  const TempDir dir;
  const std::string outside = dir.write("secret.txt", "secret");
  std::filesystem::create_directories(dir.path() / "www/sub");
  dir.write("www/index.html", "<h1>hi</h1>");
  dir.write("www/a b.txt", "0123456789");
  dir.write("www/sub/index.html", "sub");
  std::filesystem::create_symlink(outside, dir.path() / "www/out.txt");
  std::filesystem::create_symlink("a b.txt", dir.path() / "www/in.txt");
  std::filesystem::create_symlink("/etc", dir.path() / "www/etc");
  dir.write("www/empty.txt", "");
  REQUIRE(::mkfifo((dir / "www/pipe").c_str(), 0600) == 0);
  Rest rest(netapi::RestCherrypyOptions{.static_root = dir / "www"});
  const auto file = rest.call({"GET /static/a%20b.txt", "", "", 200, ""});
  const std::string changed = header(file, "Last-Modified");
  rest.check(
      {{"GET /static/a%20b.txt", "", "", 200, "0123456789", "Content-Type: text/plain;charset=utf-8"},
       {"GET /static/a%20b.txt", "Range: bytes=2-4", "", 200, "0123456789", "-Accept-Ranges"},
       {"GET /static/a%20b.txt", "Accept: application/nonsense", "", 200, "0123456789"},
       {"GET /static/empty.txt", "", "", 200, ""},
       {"GET /static/a%20b.txt", "If-Modified-Since: " + changed, "", 304, "", "-Content-Type"},
       {"GET /static/a%20b.txt", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "", 200, ""},
       {"GET /static/in.txt", "", "", 200, "0123456789"},
       {"GET /static/", "", "", 200, "<h1>hi</h1>", "Content-Type: text/html;charset=utf-8"},
       {"GET /static", "", "", 301, "", "Location: /static/"},
       {"GET /static/sub", "", "", 301, "", "Location: /static/sub/"},
       {"GET //static/sub", "", "", 301, "", "Location: /static/sub/"},
       {"GET /", "Script-Name: /salt | Path-Info: //static//sub", "", 301, "", "Location: /salt/static/sub/"},
       {"GET /static/sub/", "Accept: text/html", "", 200, "sub"},
       {"GET /static/out.txt", "", "", 404, ""},
       {"GET /static/etc/passwd", "", "", 404, ""},
       {"GET /static/pipe", "", "", 404, ""},
       {"GET /static/../secret.txt", "", "", 403, ""},
       {"GET /static/%2e%2e/secret.txt", "", "", 403, ""},
       {"GET /static/..%2fsecret.txt", "", "", 403, ""},
       {"GET /static/sub/../../secret.txt", "", "", 403, ""},
       {"POST /static/in.txt", "", "", 405, ""}});
}

TEST_CASE("a large file is streamed, and an error if it becomes shorter") {
  const TempDir dir;
  const std::string path = dir.write("large.bin", std::string(200000, 'x'));
  Rest rest(netapi::RestCherrypyOptions{.static_root = dir.path()});
  http::Response response = rest.call({"GET /static/large.bin", "", "", 200, ""});
  auto& stream = std::get<std::unique_ptr<http::Stream>>(response.body);
  CHECK(stream->next());
  REQUIRE(::truncate(path.c_str(), 10) == 0);
  CHECK_FALSE(stream->next());
}

TEST_CASE("browsers get the file of app on every path") {
  const TempDir dir;
  Rest rest(netapi::RestCherrypyOptions{.app = dir.write("gui.html", "GUI"),
                                        .favicon = dir.write("favicon.ico", "ICON")});
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

TEST_CASE("without app, browsers get the built-in page with a strict policy") {
  Rest rest;
  for (const char* const path : {"GET /", "GET /login", "HEAD /"}) {
    const auto page = rest.call({path, "Accept: text/html,application/xhtml+xml,*/*;q=0.8", "", 200, ""});
    CHECK(page.status == http::Status::ok);
    CHECK(header(page, "Content-Type") == "text/html;charset=utf-8");
    const std::string policy = header(page, "Content-Security-Policy");
    CHECK(policy.starts_with("default-src 'none'; script-src 'nonce-"));
    const std::string nonce = policy.substr(policy.find("nonce-") + 6, 32);
    CHECK(page.text().find("<script nonce=\"" + nonce + "\">") != std::string::npos);
    CHECK(page.text().find("<style nonce=\"" + nonce + "\">") != std::string::npos);
    CHECK(page.text().find("data-sessions=\"on\"") != std::string::npos);
    CHECK(page.text().find("data-user=\"\"") != std::string::npos);
    CHECK(header(page, "Cache-Control") == "no-store");
    for (const char* const never : {"@NONCE@", "@SESSIONS@", "@STATUS@", "@PERMS@", "@USER@", "@EAUTHS@",
                                    " src=", " onclick", " style=", "innerHTML"}) {
      CHECK_MESSAGE(page.text().find(never) == std::string::npos, never);
    }
    const auto again = rest.call({path, "Accept: text/html", "", 200, ""});
    CHECK(header(again, "Content-Security-Policy") != policy);
  }
  CHECK(rest.call({"GET /", "Accept: text/html", "", 200, ""}).text().find("data-eauths=\"[]\"") !=
        std::string::npos);
  rest.check({{"POST /", "X-Auth-Token: TOKEN | Accept: text/html", "[]", 406, ""},
              {"GET /", "Cookie: session_id=TOKEN | Accept: text/html", "", 200, "data-user=\"fred\""},
              {"GET /", "Cookie: session_id=TOKEN | Accept: text/html | Sec-Fetch-Site: cross-site", "", 200,
               "data-user=\"fred\""},
              {"GET /", "Cookie: session_id=abc | Accept: text/html", "", 200, "data-user=\"\""}});
}

TEST_CASE("the built-in page respects api_acl, and its login form has the eauth back ends") {
  const std::string browser = "Cookie: session_id=TOKEN | Accept: text/html";
  netapi::RestCherrypyOptions options;
  options.common.eauths = {"pam", "a\"<b"};
  options.api_acl = netapi::ApiAcl{{{"fred", {"198.51.100.0/24"}}}};
  Rest(options).check(
      {{"GET /", browser, "", 200, "data-user=\"\""},
       {"GET /", browser + " | Remote-Addr: 198.51.100.9", "", 200, "data-user=\"fred\""},
       {"GET /", browser, "", 200, "data-eauths=\"[&quot;pam&quot;, &quot;a\\&quot;&lt;b&quot;]\""}});
}
