// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"

namespace rest_fcgi {
namespace {

struct stat status_of(mode_t mode) {
  struct stat status {};
  status.st_mode = mode;
  return status;
}

TEST_CASE("the message about a group-readable file names the group") {
  const std::string text = refused_file("/m", status_of(S_IFREG | 0640));
  CHECK(text.starts_with(
      "no permission to read /m, which has mode 0640, owner root, group root: the responder's user "));
  CHECK(text.ends_with(" needs to be in the group root"));
}

TEST_CASE("the message about an owner-readable file names the missing right") {
  CHECK(refused_file("/m", status_of(S_IFREG | 0600))
            .ends_with(" needs that right (r), say by chmod g+r and the group root"));
}

TEST_CASE("the message about an owner-readable folder names both missing rights") {
  CHECK(
      refused_file("/d", status_of(S_IFDIR | 0700)).ends_with(" (rx), say by chmod g+rx and the group root"));
  CHECK(refused_file("/d", status_of(S_IFDIR | 0750)).ends_with(" needs to be in the group root"));
}

TEST_CASE("the message about the user's own file suggests chmod u+r") {
  struct stat status = status_of(S_IFREG | 0040);
  status.st_uid = ::geteuid();
  CHECK(refused_file("/m", status).ends_with(" chmod u+r /m"));
  status.st_mode = S_IFDIR | 0055;
  CHECK(refused_file("/d", status).ends_with(" chmod u+rx /d"));
  CHECK(refused_folder("/d", status).ends_with(" chmod u+x /d"));
  status.st_mode = S_IFREG | 0640;
  CHECK(refused_file("/m", status).find("chmod u") == std::string::npos);
}

TEST_CASE("why_unreadable returns the system's reason and missing permissions") {
  const test::TempDir dir;
  const std::string file = dir.write("m", "");
  CHECK(why_unreadable(file, ENOENT) == errno_text(ENOENT));
  CHECK(why_unreadable(file, EACCES)
            .starts_with("Permission denied: no permission to read " + file + ", which has mode "));
  CHECK(why_unreadable(dir / "no/such", EACCES)
            .starts_with("Permission denied: no permission to search the folder " + dir.path().string()));
}

}  // namespace
}  // namespace rest_fcgi
