// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/temp_dir.h"
#include "auth/file_eauth.h"

namespace rest_fcgi::auth {
namespace {

std::shared_ptr<PasswordHashLimiter> limiter() {
  return std::make_shared<PasswordHashLimiter>(PasswordHashLimiter::Limits{.at_once = 2});
}

Options with(std::vector<std::string> eauths) {
  Options options;
  for (std::string& name : eauths) options.external_auth.push_back({std::move(name), {}, {}});
  return options;
}

std::vector<std::string> names(const Options& options) {
  const auto eauths = *make_eauths(options, limiter());
  std::vector<std::string> names;
  for (const Eauth& eauth : eauths) names.push_back(eauth.name);
  return names;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// Returns the user and the hash in a line of a password file as `NAME=HASH`, or "none" if the line has no
/// user.
std::string entry(const Settings& settings, std::string_view line) {
  Settings all = settings;
  all.emplace_back("filename", "/users");
  const auto read = *read_file_settings(all);
  const auto found = read.layout.read(line);
  return found ? std::string(found->username) + "=" + std::string(found->stored) : "none";
}

std::string settings_mistake(const Settings& settings) {
  const Error error = read_file_settings(settings).error();
  CHECK(error.kind == ErrorKind::configuration);
  return error.message;
}

using test::CapturedLog;
using test::TempDir;

Eauth make(std::vector<std::pair<std::string, std::string>> settings) {
  auto eauth = make_file_eauth({"file", std::move(settings), {}}, limiter());
  REQUIRE(eauth);
  return *std::move(eauth);
}

bool verify(const Eauth& eauth, std::string_view username, std::string_view password) {
  const auto good = *eauth.verify({username, SecretView(password), {}});
  CHECK(good.groups.empty());
  return good.good;
}

}  // namespace

TEST_CASE("the shared secret, which has to be set, is the password of all users") {
  const auto eauth = *make_sharedsecret_eauth(Secret("OIUHF_CHANGE_THIS_12h88"));
  CHECK(verify(eauth, "fred", "OIUHF_CHANGE_THIS_12h88"));
  for (const char* wrong :
       {"OIUHF_CHANGE_THIS_12h8", "OIUHF_CHANGE_THIS_12h888", "oiuhf_change_this_12h88", ""})
    CHECK_FALSE(verify(eauth, "fred", wrong));
  const auto eauths = make_eauths(with({"sharedsecret"}), limiter());
  CHECK(eauths.error().kind == ErrorKind::configuration);
  CHECK(eauths.error().message.find("`sharedsecret`") != std::string::npos);
}

TEST_CASE("make_eauths enables the known back ends, auto only by its setting, and logs the others") {
  const test::CapturedLog log;
  Options options = with({"django", "sharedsecret", "ldap", "auto"});
  options.sharedsecret = Secret("sesame");
  CHECK(names(options) == std::vector<std::string>{"sharedsecret"});
  CHECK(log.has("external_auth: django: not enabled"));
  CHECK(log.has("external_auth: ldap: not enabled"));
  CHECK(log.has("`rest_fcgi: allow_auto_eauth: true`"));
  options.allow_auto_eauth = true;
  CHECK(names(options) == std::vector<std::string>{"sharedsecret", "auto"});
}

TEST_CASE("the fields of a line are found as in Salt, also in Apache's files") {
  CHECK(entry({}, "dean:goneFishing") == "dean=goneFishing");
  CHECK(entry({}, "  dean:gone Fishing \r\n") == "dean=gone Fishing");
  CHECK(entry({}, "dean:gone:Fishing") == "dean=gone");
  CHECK(entry({}, "#dean:gone") == "#dean=gone");
  CHECK(entry({}, "dean:") == "dean=");
  CHECK(entry({}, "dean") == "none");
  CHECK(entry({}, "") == "none");
  const Settings legacy = {{"username_field", "2"}, {"password_field", "3"}, {"field_separator", "|"}};
  CHECK(entry(legacy, "46|trey|16a0") == "trey=16a0");
  CHECK(entry(legacy, "46|trey") == "none");
  CHECK(entry({{"field_separator", "::"}, {"username_field", "2"}, {"password_field", "1"}}, "a:b::c") ==
        "c=a:b");
  CHECK(entry({{"realm", "ignored"}}, "dean:x") == "dean=x");
  const Settings htpasswd = {{"filetype", "htpasswd"}, {"username_field", "2"}};
  CHECK(entry(htpasswd, "fred:{SHA}x=") == "fred={SHA}x=");
  CHECK(entry(htpasswd, "#fred:{SHA}x=") == "none");
  const Settings htdigest = {{"filetype", "htdigest"}, {"realm", "Private"}};
  CHECK(entry(htdigest, "fred:Private:d7a6") == "fred=d7a6");
  CHECK(entry(htdigest, "fred:Public:d7a6") == "none");
  CHECK(entry(htdigest, "fred:Private") == "none");
  CHECK(entry(htdigest, "# users") == "none");
}

TEST_CASE("a wrong setting is a configuration error with its name and its value") {
  const std::pair<std::string, std::string> filename("filename", "/users");
  const auto names = [](const Settings& settings, std::string_view name, std::string_view found) {
    CAPTURE(found);
    const std::string mistake = settings_mistake(settings);
    CHECK(mistake.find("^" + std::string(name)) != std::string::npos);
    CHECK(mistake.find("found \"" + std::string(found) + "\"") != std::string::npos);
  };
  names({}, "filename", "");
  names({filename, {"filetype", "csv"}}, "filetype", "csv");
  for (const std::string wrong : {"0", "-1", "two", "2nd", "", "99999999999999999999"}) {
    names({filename, {"username_field", wrong}}, "username_field", wrong);
    names({filename, {"password_field", wrong}}, "password_field", wrong);
  }
  names({filename, {"field_separator", ""}}, "field_separator", "");
  names({filename, {"filetype", "htdigest"}}, "realm", "");
  CHECK(settings_mistake({filename, {"hash", "md5"}}).find("^hash: unknown setting") != std::string::npos);
}

TEST_CASE("a text file has users with plain passwords, and of two entries for one user the first counts") {
  const TempDir dir;
  const auto eauth =
      make({{"filename", dir.write("users", "dean:goneFishing\n\nbad line\ngene:OceanMan\ngene:new\n")}});
  CHECK(eauth.name == "file");
  CHECK(verify(eauth, "dean", "goneFishing"));
  CHECK(verify(eauth, "gene", "OceanMan"));
  CHECK_FALSE(verify(eauth, "gene", "new"));
  CHECK_FALSE(verify(eauth, "dean", "OceanMan"));
  CHECK_FALSE(verify(eauth, "trey", "goneFishing"));
  CHECK_FALSE(verify(eauth, "Dean", "goneFishing"));
}

TEST_CASE("hashed, htpasswd and htdigest files have users") {
  const TempDir dir;
  const std::string hashed = dir.write("hashed", "46|fred|c8dae1c50e092f3d877192fc555b1dcf\n");
  CHECK(verify(make({{"filename", hashed},
                     {"hashtype", "md5"},
                     {"field_separator", "|"},
                     {"username_field", "2"},
                     {"password_field", "3"}}),
               "fred", "sesame"));
  const std::string htpasswd = dir.write("htpasswd", "# users\nfred:$apr1$r31....$OSTt568Jy9b7x64jvtFsF1\n");
  CHECK(verify(make({{"filename", htpasswd}, {"filetype", "htpasswd"}}), "fred", "sesame"));
  const std::string htdigest = dir.write("htdigest", "fred:Private:d7a6c8d4c76d7a98ebd4cb66fdd78664\n");
  CHECK(verify(make({{"filename", htdigest}, {"filetype", "htdigest"}, {"realm", "Private"}}), "fred",
               "sesame"));
  CHECK_FALSE(
      verify(make({{"filename", htdigest}, {"filetype", "htdigest"}, {"realm", "X"}}), "fred", "sesame"));
}

TEST_CASE("a line without a hash of the file's type is named in the log, without its text") {
  const TempDir dir;
  const std::string good =
      "a:$apr1$r31....$OSTt568Jy9b7x64jvtFsF1\nb:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n"
      "c:$6$salt$IxDD3jeSOb5eB1CX5LBsqZFVkJdido3OUILO5Ifz5iwMuTS4XMS130MTSuDDl3aCI6WouIL9AjRbLCelDCy.g.\n"
      "d:abJnggxhB/yWI\ne:!$6$locked\n# comment\n\n";
  const auto numbers = [&dir](std::string_view text, Settings settings) {
    settings.emplace_back("filename", dir.write("users", text));
    const CapturedLog log;
    static_cast<void>(make(settings));
    CHECK_FALSE(log.has("sesame"));
    std::string found;
    for (const char* line : {":1: ", ":2: ", ":3: ", ":8: ", ":9: ", ":10: "}) {
      if (log.has(line)) found += line;
    }
    return found;
  };
  CHECK(numbers(good, {{"filetype", "htpasswd"}}) == "");
  CHECK(numbers(good + "f:sesame\ng:{SSHA}sesame\nsesame\n", {{"filetype", "htpasswd"}}) == ":8: :9: :10: ");
  CHECK(numbers("a:sesame\nb:$6$sesame\nc:\n", {{"hashtype", "crypt"}}) == ":1: :2: :3: ");
  CHECK(numbers("a:c8dae1c50e092f3d877192fc555b1dcf\nb:sesame\n", {{"hashtype", "md5"}}) == ":2: ");
  CHECK(numbers("a:R:d7a6c8d4c76d7a98ebd4cb66fdd78664\nb:R:sesame\nc:other:x\n",
                {{"filetype", "htdigest"}, {"realm", "R"}}) == ":2: ");
  CHECK(numbers("a:sesame\nb:\n", {}) == ":2: ");
}

TEST_CASE("an unknown user costs the hash of a user, always the same one, and is refused") {
  const TempDir dir;
  std::vector<std::string> seen;
  const auto take_all = [&seen](std::string_view, SecretView, std::string_view stored) {
    seen.emplace_back(stored);
    return true;
  };
  const std::string path = dir.write("users", "x\ndean:$6$a\nlocked:\nfred:$6$b\ngene:$6$c");
  const Eauth eauth = file_eauth(path, FieldLayout(), take_all, limiter());
  CHECK(verify(eauth, "fred", "sesame"));
  CHECK(seen == std::vector<std::string>{"$6$b"});
  std::set<std::string> others;
  const auto hash_for = [&](const std::string& name) {
    seen.clear();
    CHECK_FALSE(verify(eauth, name, "sesame"));
    REQUIRE(seen.size() == 1);
    return seen[0];
  };
  CHECK(hash_for("nobody") == hash_for("nobody"));
  for (int i = 0; i < 40; ++i) others.insert(hash_for("nobody" + std::to_string(i)));
  CHECK(others == std::set<std::string>{"$6$a", "$6$b", "$6$c"});
}

TEST_CASE("refusals take a multiple of a step, and not less than the longest before, up to 16 steps") {
  using std::chrono::milliseconds;
  RefusalTime time(milliseconds(250));
  CHECK(time.of(milliseconds(1)) == milliseconds(250));
  CHECK(time.of(milliseconds(260)) == milliseconds(500));
  CHECK(time.of(milliseconds(1)) == milliseconds(500));
  CHECK(time.of(milliseconds(3990)) == milliseconds(4000));
  CHECK(time.of(milliseconds(4001)) == milliseconds(8000));
  CHECK(time.of(milliseconds(1)) == milliseconds(4000));
}

TEST_CASE("after a slow refusal of the file back end, later refusals are slow") {
  const TempDir dir;
  const auto slow = [](std::string_view, SecretView, std::string_view stored) {
    std::this_thread::sleep_for(std::chrono::milliseconds(stored == "slow" ? 60 : 0));
    return false;
  };
  const Eauth eauth = file_eauth(dir.write("users", "ann:slow\nfred:fast\n"), FieldLayout(), slow, limiter());
  for (const std::string user : {"ann", "fred"}) {
    const auto begun = std::chrono::steady_clock::now();
    CHECK_FALSE(verify(eauth, user, "sesame"));
    CHECK(std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(100));
  }
}

TEST_CASE("a file that other users may change is an error at the start, and fails later logins") {
  const TempDir dir;
  const std::string path = dir.write("users", "fred:sesame\n");
  const auto eauth = make({{"filename", path}});
  std::filesystem::permissions(path, std::filesystem::perms(0660));
  const std::string cause = path + " has mode 0660,";
  const Error error = make_file_eauth({"file", {{"filename", path}}, {}}, limiter()).error();
  CHECK(error.kind == ErrorKind::configuration);
  CHECK(error.message.starts_with("external_auth: file: ^filename: " + cause));
  const CapturedLog log;
  CHECK(eauth.verify({"fred", SecretView("sesame"), {}}).error().kind == ErrorKind::internal);
  CHECK(log.has(cause));
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  CHECK(verify(eauth, "fred", "sesame"));
}

TEST_CASE("a password whose turn does not come in time is not checked") {
  const TempDir dir;
  const auto one = std::make_shared<PasswordHashLimiter>(PasswordHashLimiter::Limits{.at_once = 1});
  const auto eauth = *make_file_eauth({"file", {{"filename", dir.write("users", "fred:sesame\n")}}, {}}, one);
  const auto pass = one->enter("", SteadyTime::max());
  CHECK(eauth.verify({"fred", SecretView("sesame"), {}, SteadyTime()}).error().kind == ErrorKind::timeout);
}

TEST_CASE("an unreadable or too large file is logged at the start, and fails logins until it is readable") {
  const CapturedLog log;
  const TempDir dir;
  const auto eauth = make({{"filename", dir / "missing"}});
  CHECK(log.has((dir / "missing") + " cannot be opened: No such file or directory"));
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  static_cast<void>(make({{"filename", dir / "pipe"}}));
  CHECK(log.has("pipe is not a regular file"));
  const Error refused = eauth.verify({"fred", SecretView("sesame"), {}}).error();
  CHECK(refused.kind == ErrorKind::internal);
  CHECK(refused.message == "The eauth back end failed; the log has the cause.");
  std::filesystem::resize_file(dir.write("missing", "fred:sesame\n"), (16 << 20) + 1);
  CHECK_FALSE(eauth.verify({"fred", SecretView("sesame"), {}}));
  CHECK(log.has("is larger than 16777216 bytes"));
  dir.write("missing", "fred:sesame\n");
  CHECK(verify(eauth, "fred", "sesame"));
}

}  // namespace rest_fcgi::auth
