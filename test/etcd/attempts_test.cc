// SPDX-License-Identifier: MIT
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "etcd/members.h"

namespace rest_fcgi::etcd {
namespace {

using std::chrono::milliseconds;

Failure refused(std::string words) {
  return transport_failure({ErrorKind::unavailable, std::move(words)});
}
Failure broke(std::string words) {
  return transport_failure({ErrorKind::timeout, std::move(words)});
}

TEST_CASE("each pause is longer than the last, up to the third, and not the same for all who wait") {
  Attempts attempts(1);
  for (const int shortest : {100, 200, 400, 400, 400}) {
    attempts.add(0, refused("a"), false);
    std::set<milliseconds> pauses;
    for (int i = 0; i < 50; ++i) pauses.insert(attempts.pause());
    CHECK(pauses.size() > 1);
    CHECK(*pauses.begin() >= milliseconds(shortest));
    CHECK(*pauses.rbegin() < milliseconds(shortest * 3 / 2));
  }
}

TEST_CASE("each member's last words are told, but for those that the deadline cut off") {
  Attempts attempts(3);
  attempts.add(0, refused("a"), false);
  attempts.add(2, refused("c"), false);
  attempts.add(0, refused("a again"), false);
  attempts.add(2, refused("no time"), true);
  CHECK(attempts.error(true).message == "etcd: a again; etcd: c");
  attempts.add(1, refused("b"), true);
  CHECK(attempts.error(true).message == "etcd: a again; etcd: b; etcd: c");
}

TEST_CASE("a write is a timeout once its outcome is not known, and a read never") {
  Attempts attempts(1);
  attempts.add(0, refused("a"), false);
  CHECK(attempts.error(true).kind == ErrorKind::unavailable);
  attempts.add(0, broke("b"), true);
  attempts.add(0, refused("a"), false);
  CHECK(attempts.error(true).kind == ErrorKind::timeout);
  CHECK(attempts.error(false).kind == ErrorKind::unavailable);
}

}  // namespace
}  // namespace rest_fcgi::etcd
