// SPDX-License-Identifier: MIT
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "etcd/watch_wire.h"

namespace rest_fcgi::etcd {
namespace {

using Changes = std::vector<std::pair<std::int64_t, std::string>>;  // revisions and keys

WatchReply reply(std::int64_t revision, const Changes& changes, bool fragment = false) {
  WatchReply reply;
  reply.header.revision = revision;
  reply.fragment = fragment;
  for (const auto& [changed_at, key] : changes) {
    reply.events.push_back({.kv = {.key = key, .mod_revision = changed_at}});
  }
  return reply;
}

WatchReply created(std::int64_t revision) {
  WatchReply created = reply(revision, {});
  created.created = true;
  return created;
}

/// The keys of the next revision; empty where there is none.
std::string take(WatchBacklog& backlog) {
  std::string keys;
  const auto events = backlog.take();
  if (events) {
    for (const WatchEvent& event : *events) keys += event.kv.key;
  }
  return keys;
}

}  // namespace

TEST_CASE("events are told by revision, in order") {
  WatchBacklog backlog(3);
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{4, "a"}, {6, "b"}, {6, "c"}, {7, "d"}}));
  CHECK(backlog.next_revision() == 8);
  backlog.add(reply(9, {{9, "e"}}));
  for (const char* keys : {"a", "bc", "d", "e", ""}) CHECK(take(backlog) == keys);
  CHECK(backlog.next_revision() == 10);
}

TEST_CASE("a revision that comes in pieces is told when all of it is there") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}, true));
  CHECK(backlog.next_revision() == 5);
  CHECK(take(backlog) == "a");
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{5, "c"}}, true));
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{5, "d"}, {6, "e"}}));
  CHECK(take(backlog) == "bcd");
  CHECK(take(backlog) == "e");
}

TEST_CASE("after a break, a revision that came in part comes again as a whole, and no other does") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}, true));
  backlog.broken();
  CHECK(backlog.next_revision() == 5);
  backlog.add(created(9));
  backlog.add(reply(9, {{4, "a"}, {5, "b"}, {5, "c"}}));
  CHECK(take(backlog) == "a");
  CHECK(take(backlog) == "bc");
  CHECK(take(backlog).empty());
}

TEST_CASE("after a break, what is complete is still told") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}));
  backlog.broken();
  CHECK(backlog.next_revision() == 6);
  CHECK(take(backlog) == "a");
  CHECK(take(backlog) == "b");
}

TEST_CASE("a watch from now on goes on from the first reply's revision after a break") {
  WatchBacklog backlog(0);
  backlog.broken();
  CHECK(backlog.next_revision() == 0);
  backlog.add(created(7));
  CHECK(backlog.next_revision() == 8);
  backlog.add(created(12));
  CHECK(backlog.next_revision() == 8);
}

TEST_CASE("a reply without events moves the revision on, and one with events does not beyond them") {
  WatchBacklog backlog(3);
  backlog.add(reply(100, {{4, "a"}}));
  CHECK(backlog.next_revision() == 5);
  backlog.add(reply(100, {}));
  CHECK(backlog.next_revision() == 101);
  backlog.add(reply(50, {}));
  CHECK(backlog.next_revision() == 101);
}

}  // namespace rest_fcgi::etcd
