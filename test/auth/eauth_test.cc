// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/temp_dir.h"
#include "auth/file_eauth.h"

namespace rest_fcgi::auth {
namespace {

bool verify(const Eauth& eauth, std::string_view password) {
  const auto good = eauth.verify({"fred", SecretView(password), {}});
  REQUIRE(good);
  CHECK(good->groups.empty());
  return good->good;
}

Options with(std::vector<std::string> eauths) {
  Options options;
  for (std::string& name : eauths) options.external_auth.push_back({std::move(name), {}, {}});
  return options;
}

std::vector<std::string> names(const Options& options) {
  const auto eauths = make_eauths(options);
  REQUIRE(eauths);
  std::vector<std::string> names;
  for (const Eauth& eauth : *eauths) names.push_back(eauth.name);
  return names;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

/// What a line gives as `username=stored`.
std::string entry(const Settings& settings, std::string_view line) {
  Settings all = settings;
  all.emplace_back("filename", "/users");
  const auto read = read_file_settings(all);
  REQUIRE(read);
  const auto found = read->layout.read(line);
  return found ? std::string(found->username) + "=" + std::string(found->stored) : "none";
}

std::string mistake(const Settings& settings) {
  const auto read = read_file_settings(settings);
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == ErrorKind::configuration);
  return read.error().message;
}

using test::CapturedLog;
using test::TempDir;

Eauth make(std::vector<std::pair<std::string, std::string>> settings) {
  auto eauth = make_file_eauth({"file", std::move(settings), {}});
  REQUIRE(eauth);
  return *std::move(eauth);
}

bool verify(const Eauth& eauth, std::string_view username, std::string_view password) {
  const auto good = eauth.verify({username, SecretView(password), {}});
  REQUIRE(good);
  CHECK(good->groups.empty());
  return good->good;
}

}  // namespace

TEST_CASE("the shared secret is everybody's password, and nothing else is") {
  const auto eauth = make_sharedsecret_eauth(Secret("OIUHF_CHANGE_THIS_12h88"));
  REQUIRE(eauth);
  CHECK(verify(*eauth, "OIUHF_CHANGE_THIS_12h88"));
  CHECK_FALSE(verify(*eauth, "OIUHF_CHANGE_THIS_12h8"));
  CHECK_FALSE(verify(*eauth, "OIUHF_CHANGE_THIS_12h888"));
  CHECK_FALSE(verify(*eauth, "oiuhf_change_this_12h88"));
  CHECK_FALSE(verify(*eauth, ""));
}

TEST_CASE("sharedsecret without a secret is an error of the configuration") {
  const auto eauths = make_eauths(with({"sharedsecret"}));
  REQUIRE_FALSE(eauths);
  CHECK(eauths.error().kind == ErrorKind::configuration);
  CHECK(eauths.error().message ==
        "external_auth: sharedsecret: the setting `sharedsecret` has no value; it is the password that this "
        "back end "
        "takes");
}

TEST_CASE("auto takes any password") {
  const auto eauth = make_auto_eauth();
  CHECK(verify(eauth, "x"));
  CHECK(verify(eauth, ""));
}

TEST_CASE("auto is on only where the configuration allows it, and else the log says how") {
  const test::CapturedLog log;
  Options options = with({"auto"});
  CHECK(names(options).empty());
  CHECK(log.has("`rest_fcgi: allow_auto_eauth: true`"));
  options.allow_auto_eauth = true;
  CHECK(names(options) == std::vector<std::string>{"auto"});
}

TEST_CASE("back ends are those of external_auth; the log names those that are not there yet") {
  const test::CapturedLog log;
  Options options = with({"django", "sharedsecret", "ldap"});
  options.sharedsecret = Secret("sesame");
  CHECK(names(options) == std::vector<std::string>{"sharedsecret"});
  CHECK(log.has(
      "external_auth: django: left off, since it is not there yet; file, pam, sharedsecret and auto are"));
  CHECK(log.has("external_auth: ldap: left off"));
  CHECK(names(with({})).empty());
}

TEST_CASE("a back end that cannot work as it is configured is an error") {
  const auto eauths = make_eauths(with({"file"}));
  REQUIRE_FALSE(eauths);
  CHECK(eauths.error().kind == ErrorKind::configuration);
}

TEST_CASE("without settings the file is text with plain passwords") {
  const auto read = read_file_settings({{"filename", "/users"}});
  REQUIRE(read);
  CHECK(read->filename == "/users");
  CHECK(read->type == FileSettings::Type::text);
  CHECK(read->hashtype == "plaintext");
  CHECK(read->layout.separator == ":");
}

TEST_CASE("a line's fields are found as Salt finds them") {
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
}

TEST_CASE("Apache's files have their own layout, and comments") {
  const Settings htpasswd = {{"filetype", "htpasswd"}, {"username_field", "2"}};
  CHECK(entry(htpasswd, "fred:{SHA}x=") == "fred={SHA}x=");
  CHECK(entry(htpasswd, "#fred:{SHA}x=") == "none");
  const Settings htdigest = {{"filetype", "htdigest"}, {"realm", "Private"}};
  CHECK(entry(htdigest, "fred:Private:d7a6") == "fred=d7a6");
  CHECK(entry(htdigest, "fred:Public:d7a6") == "none");
  CHECK(entry(htdigest, "fred:Private") == "none");
  CHECK(entry(htdigest, "# users") == "none");
}

TEST_CASE("a wrong setting is named with what was found and what is accepted") {
  const std::pair<std::string, std::string> filename("filename", "/users");
  CHECK(mistake({}) ==
        "external_auth: file: ^filename: \"\" found, the path of the file with the users expected");
  CHECK(mistake({filename, {"filetype", "csv"}}) ==
        "external_auth: file: ^filetype: \"csv\" found, text, htpasswd or htdigest expected");
  for (const std::string wrong : {"0", "-1", "two", "2nd", "", "99999999999999999999"}) {
    for (const std::string field : {"username_field", "password_field"}) {
      CHECK(mistake({filename, {field, wrong}}) ==
            "external_auth: file: ^" + field + ": \"" + wrong + "\" found, a number from 1 expected");
    }
  }
  CHECK(mistake({filename, {"field_separator", ""}}) ==
        "external_auth: file: ^field_separator: \"\" found, at least one character expected");
  CHECK(mistake({filename, {"filetype", "htdigest"}}) ==
        "external_auth: file: ^realm: \"\" found, the realm, which htdigest files need, expected");
  CHECK(mistake({filename, {"hash", "md5"}}) ==
        "external_auth: file: ^hash: unknown setting; there are ^filename, ^filetype, ^realm, ^hashtype, "
        "^field_separator, ^username_field and ^password_field");
}

TEST_CASE("the file back end knows users of a text file") {
  const TempDir dir;
  const auto eauth =
      make({{"filename", dir.write("users", "dean:goneFishing\n\nbad line\ngene:OceanMan\n")}});
  CHECK(eauth.name == "file");
  CHECK(verify(eauth, "dean", "goneFishing"));
  CHECK(verify(eauth, "gene", "OceanMan"));
  CHECK_FALSE(verify(eauth, "dean", "OceanMan"));
  CHECK_FALSE(verify(eauth, "trey", "goneFishing"));
  CHECK_FALSE(verify(eauth, "Dean", "goneFishing"));
}

TEST_CASE("the file back end knows users of hashed, htpasswd and htdigest files") {
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

TEST_CASE("of two entries for one user the first counts") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "fred:old\nfred:new\n")}});
  CHECK(verify(eauth, "fred", "old"));
  CHECK_FALSE(verify(eauth, "fred", "new"));
}

TEST_CASE("a changed file counts at once") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "fred:old\n")}});
  CHECK(verify(eauth, "fred", "old"));
  dir.write("users", "fred:new\n");
  CHECK_FALSE(verify(eauth, "fred", "old"));
  CHECK(verify(eauth, "fred", "new"));
}

TEST_CASE(
    "an unknown user costs a hash of the kind that the file's first user has, and is refused all the same") {
  const TempDir dir;
  std::vector<std::string> seen;
  const auto take_all = [&seen](std::string_view, SecretView, std::string_view stored) {
    seen.emplace_back(stored);
    return true;
  };
  const Eauth eauth =
      file_eauth(dir.write("users", "x\ndean:$6$first\nfred:$6$second"), FieldLayout(), take_all);
  CHECK_FALSE(verify(eauth, "nobody", "sesame"));
  CHECK(verify(eauth, "fred", "sesame"));
  CHECK(seen == std::vector<std::string>{"$6$first", "$6$second"});
}

TEST_CASE("in an empty file there is nobody") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "")}});
  CHECK_FALSE(verify(eauth, "fred", ""));
  CHECK_FALSE(verify(eauth, "", ""));
}

TEST_CASE("a file that cannot be read is said in the log at start, and fails every check") {
  const CapturedLog log;
  const TempDir dir;
  const auto eauth = make({{"filename", dir / "missing"}});
  const std::string cause = "external_auth: file: " + (dir / "missing") +
                            " cannot be opened: No such file or directory; nobody can log in through it";
  CHECK(log.has(cause));
  const auto refused = eauth.verify({"fred", SecretView("sesame"), {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::internal);
  CHECK(refused.error().message == "The eauth back end failed; the log has the cause.");
  dir.write("missing", "fred:sesame\n");
  CHECK(verify(eauth, "fred", "sesame"));
}

TEST_CASE("a file of more than 16 MiB is not read") {
  const CapturedLog log;
  const TempDir dir;
  const std::string path = dir.write("users", "fred:sesame\n");
  std::filesystem::resize_file(path, (16 << 20) + 1);
  CHECK_FALSE(make({{"filename", path}}).verify({"fred", SecretView("sesame"), {}}));
  CHECK(log.has("is larger than 16777216 bytes"));
}

TEST_CASE("a wrong setting of the file back end is an error of the configuration") {
  const auto no_name = make_file_eauth({"file", {}, {}});
  REQUIRE_FALSE(no_name);
  CHECK(no_name.error().kind == ErrorKind::configuration);
  const auto no_hash = make_file_eauth({"file", {{"filename", "/users"}, {"hashtype", "rot13"}}, {}});
  REQUIRE_FALSE(no_hash);
  CHECK(no_hash.error().kind == ErrorKind::configuration);
  CHECK(no_hash.error().message.starts_with(
      "external_auth: file: ^hashtype: \"rot13\" is no hashtype; there are "));
}

}  // namespace rest_fcgi::auth
