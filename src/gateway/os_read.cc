// SPDX-License-Identifier: MIT
#include <fcgios.h>
#include <unistd.h>

#include "gateway/incoming.h"

/// libfcgi calls this by its name for every read from a connection, and a program that defines it takes the
/// place of libfcgi's own, which is read(2). It is the one place where what a peer sent can be looked at, and
/// where a whole request can be given a time, before libfcgi stores and believes it. `init_libfcgi` checks
/// that reads do come this way.
extern "C" int OS_Read(int fd, char* buf, size_t len) {
  using rest_fcgi::gateway::Incoming;
  if (Incoming* incoming = Incoming::of_this_thread()) return incoming->read(buf, len);
  return static_cast<int>(::read(fd, buf, len));
}
