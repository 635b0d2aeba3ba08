// SPDX-License-Identifier: MIT
#include "auth/file_eauth.h"

#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/temp_dir.h"

namespace rest_fcgi::auth {
namespace {

using test::CapturedLog;
using test::TempDir;

std::unique_ptr<Eauth> make(std::vector<std::pair<std::string, std::string>> settings) {
  auto eauth = make_file_eauth({"file", std::move(settings), {}});
  REQUIRE(eauth);
  return *std::move(eauth);
}

bool verify(const Eauth& eauth, std::string_view username, std::string_view password) {
  const auto good = eauth.verify({username, SecretView(password), {}});
  REQUIRE(good);
  CHECK(good->groups == nullptr);
  return good->good;
}

/// Records what passwords are held against, and says that all of them are good.
class RecordingHash final : public PasswordHash {
 public:
  explicit RecordingHash(std::vector<std::string>& seen) : seen_(seen) {}
  [[nodiscard]] bool matches(std::string_view, SecretView, std::string_view stored) const override {
    seen_.emplace_back(stored);
    return true;
  }

 private:
  std::vector<std::string>& seen_;
};

}  // namespace

TEST_CASE("the file back end knows users of a text file") {
  const TempDir dir;
  const auto eauth =
      make({{"filename", dir.write("users", "dean:goneFishing\n\nbad line\ngene:OceanMan\n")}});
  CHECK(eauth->name() == "file");
  CHECK(verify(*eauth, "dean", "goneFishing"));
  CHECK(verify(*eauth, "gene", "OceanMan"));
  CHECK_FALSE(verify(*eauth, "dean", "OceanMan"));
  CHECK_FALSE(verify(*eauth, "trey", "goneFishing"));
  CHECK_FALSE(verify(*eauth, "Dean", "goneFishing"));
}

TEST_CASE("the file back end knows users of hashed, htpasswd and htdigest files") {
  const TempDir dir;
  const std::string hashed = dir.write("hashed", "46|fred|c8dae1c50e092f3d877192fc555b1dcf\n");
  CHECK(verify(*make({{"filename", hashed},
                      {"hashtype", "md5"},
                      {"field_separator", "|"},
                      {"username_field", "2"},
                      {"password_field", "3"}}),
               "fred", "sesame"));
  const std::string htpasswd = dir.write("htpasswd", "# users\nfred:$apr1$r31....$OSTt568Jy9b7x64jvtFsF1\n");
  CHECK(verify(*make({{"filename", htpasswd}, {"filetype", "htpasswd"}}), "fred", "sesame"));
  const std::string htdigest = dir.write("htdigest", "fred:Private:d7a6c8d4c76d7a98ebd4cb66fdd78664\n");
  CHECK(verify(*make({{"filename", htdigest}, {"filetype", "htdigest"}, {"realm", "Private"}}), "fred",
               "sesame"));
  CHECK_FALSE(
      verify(*make({{"filename", htdigest}, {"filetype", "htdigest"}, {"realm", "X"}}), "fred", "sesame"));
}

TEST_CASE("of two entries for one user the first counts") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "fred:old\nfred:new\n")}});
  CHECK(verify(*eauth, "fred", "old"));
  CHECK_FALSE(verify(*eauth, "fred", "new"));
}

TEST_CASE("a changed file counts at once") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "fred:old\n")}});
  CHECK(verify(*eauth, "fred", "old"));
  dir.write("users", "fred:new\n");
  CHECK_FALSE(verify(*eauth, "fred", "old"));
  CHECK(verify(*eauth, "fred", "new"));
}

TEST_CASE(
    "an unknown user costs a hash of the kind that the file's first user has, and is refused all the same") {
  const TempDir dir;
  std::vector<std::string> seen;
  const FileEauth eauth(dir.write("users", "x\ndean:$6$first\nfred:$6$second"), {},
                        std::make_unique<RecordingHash>(seen));
  CHECK_FALSE(verify(eauth, "nobody", "sesame"));
  CHECK(verify(eauth, "fred", "sesame"));
  CHECK(seen == std::vector<std::string>{"$6$first", "$6$second"});
}

TEST_CASE("in an empty file there is nobody") {
  const TempDir dir;
  const auto eauth = make({{"filename", dir.write("users", "")}});
  CHECK_FALSE(verify(*eauth, "fred", ""));
  CHECK_FALSE(verify(*eauth, "", ""));
}

TEST_CASE("a file that cannot be read is said in the log at start, and fails every check") {
  const CapturedLog log;
  const TempDir dir;
  const auto eauth = make({{"filename", dir / "missing"}});
  const std::string cause = "external_auth: file: " + (dir / "missing") +
                            " cannot be opened: No such file or directory; nobody can log in through it";
  CHECK(log.has(cause));
  const auto refused = eauth->verify({"fred", SecretView("sesame"), {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::internal);
  CHECK(refused.error().message == "The eauth back end failed; the log has the cause.");
  dir.write("missing", "fred:sesame\n");
  CHECK(verify(*eauth, "fred", "sesame"));
}

TEST_CASE("a file of more than 16 MiB is not read") {
  const CapturedLog log;
  const TempDir dir;
  const std::string path = dir.write("users", "fred:sesame\n");
  std::filesystem::resize_file(path, (16 << 20) + 1);
  CHECK_FALSE(make({{"filename", path}})->verify({"fred", SecretView("sesame"), {}}));
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
