// SPDX-License-Identifier: MIT
#include <string>

#include <doctest/doctest.h>

#include "../../../support/temp_dir.h"
#include "master/salt/events/event_socket.h"

namespace {

using namespace rest_fcgi::salt;
using rest_fcgi::test::TempDir;

struct stat status_of(mode_t mode, uid_t owner, gid_t group) {
  struct stat status {};
  status.st_mode = mode;
  status.st_uid = owner;
  status.st_gid = group;
  return status;
}

TEST_CASE("a socket that the group may use names the group that the responder needs") {
  const std::string text = refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0660, 0, 0));
  CHECK(text.starts_with(
      "no permission to connect to /s/bus.ipc, which has mode 0660, owner root, group root: the "
      "responder's user "));
  CHECK(text.ends_with(" needs to be in the group root"));
}

TEST_CASE("a socket that is closed to its group says what a master opens it for") {
  CHECK(refused_socket("/s/bus.ipc", status_of(S_IFSOCK | 0600, 0, 0)) ==
        "no permission to connect to /s/bus.ipc, which has mode 0600, owner root, group root: a master opens "
        "it to its "
        "group only where its configuration has external_auth or publisher_acl");
}

TEST_CASE("a folder that may not be searched names the right that is missing") {
  const std::string text = refused_folder("/s", status_of(S_IFDIR | 0750, 0, 0));
  CHECK(text.starts_with(
      "no permission to search the folder /s, which has mode 0750, owner root, group root: the "
      "responder's user "));
  CHECK(text.ends_with(" needs that right (x), say by the group root"));
}

TEST_CASE("a user or group without a name is named by its number") {
  CHECK(refused_socket("/s", status_of(S_IFSOCK | 0600, 3999999999, 3999999998))
            .find("owner 3999999999, group 3999999998") != std::string::npos);
}

TEST_CASE("the folder that is next on the way to what cannot be looked at is the one that is named") {
  const TempDir dir;
  const std::string file = dir.write("bus.ipc", "");
  CHECK(refused_path(file).starts_with("no permission to connect to " + file + ", "));
  CHECK(refused_path(dir / "no/such/bus.ipc")
            .starts_with("no permission to search the folder " + dir.path().string() +
                         ", which has mode 0700"));
}

TEST_CASE("a relative path of which nothing can be looked at is named itself") {
  CHECK(refused_path("no/such/bus.ipc") == "no permission to look at no/such/bus.ipc");
}

}  // namespace
