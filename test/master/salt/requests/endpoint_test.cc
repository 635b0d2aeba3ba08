// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/salt/requests/connection.h"

namespace rest_fcgi::salt {

TEST_CASE("an address of a master is an address or a name, and a port") {
  for (const char* uri : {"tcp://127.0.0.1:4506", "tcp://salt.example.org:1", "tcp://salt_master-2:65535",
                          "tcp://[::1]:4506", "tcp://[fe80::1%eth0]:4506"}) {
    CAPTURE(uri);
    CHECK(check_endpoint(uri));
  }
}

TEST_CASE("what is no address of a master is refused with the words of what is") {
  for (const char* uri :
       {"", "tcp://", "127.0.0.1:4506", "ipc:///run/salt/master", "tcp://127.0.0.1",
        "tcp://127.0.0.1:", "tcp://:4506", "tcp://a b:4506", "tcp://127.0.0.1:0", "tcp://a:65536",
        "tcp://a:-1", "tcp://a:45x", "tcp://a:99999999999", "tcp://*:4506", "tcp://[]:4506",
        "tcp://[::1:4506", "tcp://::1:4506", "tcp://10.0.0.1;10.0.0.2:4506"}) {
    CAPTURE(uri);
    const auto checked = check_endpoint(uri);
    REQUIRE(!checked);
    CHECK(checked.error().kind == ErrorKind::configuration);
    CHECK(checked.error().message.find("tcp://HOST:PORT") != std::string::npos);
  }
}

}  // namespace rest_fcgi::salt
