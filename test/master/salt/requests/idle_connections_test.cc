// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "master/salt/requests/connection.h"

namespace rest_fcgi::salt {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};

struct Kept {
  zmq::context_t context{1};
  IdleConnections idle;

  Connection* put(SteadyTime now) {
    auto made = Connection::make(context, {"tcp://127.0.0.1:1", 1});
    REQUIRE(made);
    Connection* const connection = made->get();
    idle.put(*std::move(made), now);
    return connection;
  }
};

}  // namespace

TEST_CASE("of the kept connections the one that was put last is taken first") {
  Kept kept;
  CHECK(kept.idle.take() == nullptr);
  Connection* const first = kept.put(kStart);
  Connection* const second = kept.put(kStart);
  CHECK(kept.idle.take().get() == second);
  CHECK(kept.idle.take().get() == first);
  CHECK(kept.idle.take() == nullptr);
}

TEST_CASE("connections that nobody needed for a minute are closed when another one is put") {
  Kept kept;
  kept.put(kStart);
  kept.put(kStart + seconds(1));
  Connection* const third = kept.put(kStart + seconds(59));
  CHECK(kept.idle.size() == 3);
  Connection* const last = kept.put(kStart + seconds(61));
  CHECK(kept.idle.size() == 2);
  CHECK(kept.idle.take().get() == last);
  CHECK(kept.idle.take().get() == third);
}

}  // namespace rest_fcgi::salt
