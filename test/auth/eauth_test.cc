// SPDX-License-Identifier: MIT
#include "auth/eauth.h"

#include <utility>

#include <doctest/doctest.h>

#include "../support/captured_log.h"

namespace rest_fcgi::auth {
namespace {

bool verify(const Eauth& eauth, std::string_view password) {
  const auto good = eauth.verify({"fred", SecretView(password), {}});
  REQUIRE(good);
  CHECK(good->groups == nullptr);
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
  for (const auto& eauth : *eauths) names.emplace_back(eauth->name());
  return names;
}

}  // namespace

TEST_CASE("the shared secret is everybody's password, and nothing else is") {
  const auto eauth = make_sharedsecret_eauth(Secret("OIUHF_CHANGE_THIS_12h88"));
  REQUIRE(eauth);
  CHECK(verify(**eauth, "OIUHF_CHANGE_THIS_12h88"));
  CHECK_FALSE(verify(**eauth, "OIUHF_CHANGE_THIS_12h8"));
  CHECK_FALSE(verify(**eauth, "OIUHF_CHANGE_THIS_12h888"));
  CHECK_FALSE(verify(**eauth, "oiuhf_change_this_12h88"));
  CHECK_FALSE(verify(**eauth, ""));
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
  CHECK(verify(*eauth, "x"));
  CHECK(verify(*eauth, ""));
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

}  // namespace rest_fcgi::auth
