// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/password_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "auth/password_hash.h"

namespace rest_fcgi::auth {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct File {
  test::TempDir dir;
  Pairs settings;

  explicit File(Pairs more = {{"filetype", "htpasswd"}}) : settings(std::move(more)) {
    settings.emplace_back("filename", dir / "users");
  }
  [[nodiscard]] Result<std::string> write(bool is_new, std::string_view user,
                                          std::string_view password) const {
    Options options;
    options.external_auth = {{"file", settings, {}}};
    return write_user(options, {.is_new = is_new, .user = user, .group = ::getegid()},
                      [password]() -> Result<Secret> { return Secret(password); });
  }
  /// Returns the lines, with PASSWORD in place of a hash of "sesame".
  [[nodiscard]] std::string text() const {
    std::string text = dir.read("users");
    for (std::size_t at = 0; (at = text.find("$y$", at)) != text.npos;) {
      const std::size_t size = text.find_first_of(":|\n", at) - at;
      CHECK((*make_password_hash("crypt"))("", SecretView("sesame"), text.substr(at, size)));
      text.replace(at, size, "PASSWORD");
    }
    return text;
  }
};

TEST_CASE("a new file of users is for its owner and the group, and a second user is a second line") {
  const File file;
  CHECK(*file.write(true, "alice", "sesame") == (file.dir / "users"));
  struct stat status {};
  REQUIRE(::stat((file.dir / "users").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0640U);
  REQUIRE(file.write(true, "bob", "sesame"));
  CHECK(file.text() == "alice:PASSWORD\nbob:PASSWORD\n");
}

TEST_CASE("a changed file keeps its mode, its comments and the other users") {
  const File file;
  REQUIRE(::chmod(file.dir.write("users", "# staff\nalice:{SHA}x=\nbob:old").c_str(), 0600) == 0);
  REQUIRE(file.write(false, "alice", "sesame"));
  CHECK(file.text() == "# staff\nalice:PASSWORD\nbob:old");
  REQUIRE(file.write(true, "carol", "sesame"));
  CHECK(file.text() == "# staff\nalice:PASSWORD\nbob:old\ncarol:PASSWORD\n");
  struct stat status {};
  REQUIRE(::stat((file.dir / "users").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0600U);
}

TEST_CASE("a text file with hashes of crypt(3) keeps its fields") {
  const File file(
      {{"hashtype", "crypt"}, {"field_separator", "|"}, {"username_field", "2"}, {"password_field", "3"}});
  file.dir.write("users", "46|alice|x|Alice of Wonderland\n");
  REQUIRE(file.write(false, "alice", "sesame"));
  REQUIRE(file.write(true, "bob", "sesame"));
  CHECK(file.text() == "46|alice|PASSWORD|Alice of Wonderland\n|bob|PASSWORD\n");
}

TEST_CASE("an existing user is not added, and a missing user gets no password") {
  const File file;
  file.dir.write("users", "# staff\nalice:{SHA}x=\n");
  const Error exists = file.write(true, "alice", "sesame").error();
  CHECK(exists.kind == ErrorKind::configuration);
  CHECK(exists.message.starts_with((file.dir / "users") + ":2: "));
  CHECK(exists.message.find("--passwd alice") != std::string::npos);
  const Error missing = file.write(false, "bob", "sesame").error();
  CHECK(missing.kind == ErrorKind::configuration);
  CHECK(missing.message.starts_with((file.dir / "users") + ": "));
  CHECK(missing.message.find("--add-user bob") != std::string::npos);
  CHECK(file.dir.read("users") == "# staff\nalice:{SHA}x=\n");
}

TEST_CASE("a name that a file or external_auth reads differently is no user") {
  for (const char* name : {"", "*", "a:b", "#a", " a", "a ", "a\nb", "^filename", "admins%"}) {
    CAPTURE(name);
    const File file;
    CHECK(file.write(true, name, "sesame").error().kind == ErrorKind::configuration);
    CHECK_FALSE(std::filesystem::exists(file.dir / "users"));
  }
}

TEST_CASE("a file without hashes of crypt(3) gets no user") {
  for (const Pairs& settings : std::vector<Pairs>{Pairs{}, Pairs{{"hashtype", "sha256"}},
                                                  Pairs{{"filetype", "htdigest"}, {"realm", "r"}}}) {
    const File file(settings);
    const Error error = file.write(true, "alice", "sesame").error();
    CHECK(error.kind == ErrorKind::configuration);
    CHECK(error.message.starts_with("external_auth: file: ^"));
  }
  const Error none = write_user({}, {.is_new = true, .user = "alice"}, [] { return Secret("x"); }).error();
  CHECK(none.message.starts_with("external_auth: "));
}

}  // namespace
}  // namespace rest_fcgi::auth
