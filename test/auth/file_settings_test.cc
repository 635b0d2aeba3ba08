// SPDX-License-Identifier: MIT
#include "auth/file_settings.h"

#include <doctest/doctest.h>

namespace rest_fcgi::auth {
namespace {

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

}  // namespace

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

}  // namespace rest_fcgi::auth
