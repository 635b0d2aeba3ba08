// SPDX-License-Identifier: MIT
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>

#include <doctest/doctest.h>

#include "master/embedded/host/file_systems.h"
#include "master/embedded/host/mounts.h"
#include "master/embedded/host/processes.h"

namespace rest_fcgi::embedded {
namespace {

TEST_CASE("mounts are read with blanks in their names") {
  const auto mounts =
      parse_mounts("/dev/vda / ext4 rw 0 0\nb\\040x /mnt/a\\040b\\134 tmpfs rw 0 0\ntoo short\n\\9 /x t\n");
  REQUIRE(mounts.size() == 3);
  CHECK(mounts[0].type == "ext4");
  CHECK(mounts[1].device == "b x");
  CHECK(mounts[1].point == "/mnt/a b\\");
  CHECK(mounts[2].device == "\\9");
}

TEST_CASE("of the mounts of one device df shows the one nearest to the root") {
  CHECK(is_better({"/dev/a", "/", "ext4"}, {"/dev/a", "/mnt", "ext4"}));
  CHECK_FALSE(is_better({"/dev/a", "/mnt", "ext4"}, {"/dev/a", "/", "ext4"}));
  CHECK(is_better({"/dev/a", "/mnt/long", "ext4"}, {"overlay", "/mnt", "overlay"}));
  CHECK(is_better({"second", "/mnt", "tmpfs"}, {"first", "/mnt", "tmpfs"}));
}

TEST_CASE("percentages are rounded up") {
  CHECK(percent_of(0, 10) == "0%");
  CHECK(percent_of(1, 999) == "1%");
  CHECK(percent_of(10, 0) == "100%");
  CHECK(percent_of(0, 0) == "-");
}

TEST_CASE("the root's file system is among those of this host, with sizes") {
  const auto systems = host_file_systems();
  const auto root = std::find_if(systems.begin(), systems.end(),
                                 [](const FileSystem& one) { return one.mount.point == "/"; });
  REQUIRE(root != systems.end());
  CHECK(root->kib >= root->used_kib);
  CHECK(root->inodes >= root->free_inodes);
}

TEST_CASE("a command is shown as ps shows it") {
  CHECK(command_of(std::string_view("nginx:\0worker  process\0", 23), "nginx\n") == "nginx: worker process");
  CHECK(command_of("", "kthreadd\n") == "[kthreadd]");
}

TEST_CASE("this process is among those of the host") {
  const auto all = host_processes();
  const auto self =
      std::find_if(all.begin(), all.end(), [](const Process& one) { return one.pid == ::getpid(); });
  REQUIRE(self != all.end());
  CHECK_FALSE(self->user.empty());
  CHECK(self->command.find("unit_tests") != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::embedded
