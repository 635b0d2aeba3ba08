// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/kept_ports.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "../support/passed_sockets.h"

using namespace rest_fcgi;

namespace {

int make_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

ino_t inode(int fd) {
  struct stat found = {};
  return ::fstat(fd, &found) == 0 ? found.st_ino : 0;
}

gateway::HttpOptions port(const std::string& host, std::uint16_t number) {
  gateway::HttpOptions options;
  options.host = host;
  options.port = number;
  return options;
}

/// Calls `drop_stale_ports` in a process that gets two sockets with these names. The configuration has the
/// ports 127.0.0.1:8000 and [::]:8001. Returns the sockets that are then still open (`first` and `second`),
/// and the value of LISTEN_FDS.
std::string kept(const std::string& names, const char* pid = nullptr) {
  const int first = make_socket();
  const int second = make_socket();
  const ino_t first_inode = inode(first);
  const ino_t second_inode = inode(second);
  const std::string result = test::run_with_sockets({first, second}, "2", pid, [&] {
    ::setenv("LISTEN_FDNAMES", names.c_str(), 1);
    ::unsetenv("NOTIFY_SOCKET");
    engine::drop_stale_ports({port("127.0.0.1", 8000), port("::", 8001)});
    std::string text;
    for (const int fd : {3, 4}) {
      if (inode(fd) == first_inode) text += "first ";
      if (inode(fd) == second_inode) text += "second ";
    }
    return text + std::getenv("LISTEN_FDS");
  });
  ::close(first);
  ::close(second);
  return result;
}

}  // namespace

TEST_CASE("drop_stale_ports closes the stored sockets of other ports, and keeps those of socket units") {
  CHECK(kept("port-127.0.0.1-8000:port-__-8001") == "first second 2");
  CHECK(kept("port-127.0.0.1-9000:port-__-8001") == "second 1");
  CHECK(kept("port-127.0.0.1-8000:port-127.0.0.1-8001") == "first 1");
  CHECK(kept("port-127.0.0.1-9000:port-127.0.0.1-9001") == "0");
  CHECK(kept("rest_fcgi.socket:port-__-8001") == "first second 2");
  CHECK(kept("port-__-9000:rest_fcgi.socket") == "second 1");
  CHECK(kept("port-__-9000:port-__-9001", "1") == "first second 2");
  CHECK(kept("port-__-9000") == "first second 2");
}
