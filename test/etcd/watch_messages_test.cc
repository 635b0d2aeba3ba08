// SPDX-License-Identifier: MIT
#include "etcd/watch_messages.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

namespace rest_fcgi::etcd {
namespace {

using Changes = std::vector<std::pair<std::int64_t, std::string>>;  // revisions and keys

/// Returns the lines of a text that the reader gets in pieces of `size` bytes. If the reader fails, the last
/// line is "error".
std::vector<std::string> lines_of(std::string_view text, std::size_t size, std::size_t most = 1000) {
  LineReader reader(most);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at += size) {
    reader.append(text.substr(at, size));
    for (;;) {
      auto line = reader.next();
      if (!line) {
        lines.emplace_back("error");
        return lines;
      }
      if (!*line) break;
      lines.push_back(**line);
    }
  }
  return lines;
}

TEST_CASE("a stream is split into lines, and a line above the limit is an error before its end") {
  const std::string text = "{\"a\":1}\n\n{}\n{\"b\":\"\\n\"}\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    CHECK(lines_of(text, size) == std::vector<std::string>{"{\"a\":1}", "{}", "{\"b\":\"\\n\"}"});
  }
  LineReader reader(1000);
  reader.append("one\ntwo");
  CHECK(**reader.next() == "one");
  CHECK(reader.rest() == "two");
  CHECK(reader.rest().empty());
  CHECK(lines_of("0123456789\n0123456789\n", 5, 10) == std::vector<std::string>{"0123456789", "0123456789"});
  CHECK(lines_of("0123456789\n", 5, 9) == std::vector<std::string>{"error"});
  CHECK(lines_of("0123456789012345", 5, 12) == std::vector<std::string>{"error"});
}

const std::string kUrl = "http://10.0.0.1:2379";

WatchReply reply_of(const std::string& object) {
  const auto read = read_watch_reply(object, kUrl);
  REQUIRE(std::holds_alternative<WatchReply>(read));
  return std::get<WatchReply>(read);
}

TEST_CASE("a watch request asks for earlier pairs and progress") {
  CHECK(watch_body({.key = "foo", .range_end = "fop"}, 7, true) ==
        R"({"create_request": {"key": "Zm9v", "range_end": "Zm9w", "start_revision": "7", "prev_kv": true, )"
        R"("progress_notify": true, "fragment": true}})");
  CHECK(watch_body({.key = "foo"}, 7, false).find("fragment") == std::string::npos);
}

TEST_CASE("the reason of a cancellation decides the retry action") {
  const auto canceled = [](const std::string& reason) {
    return cancel_failure(
        reply_of(R"({"result":{"created":true,"canceled":true,"cancel_reason":")" + reason + "\"}}"), kUrl);
  };
  CHECK(canceled("rpc error: code = InvalidArgument desc = etcdserver: user name is empty").action ==
        RetryAction::authenticate);
  CHECK(canceled("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token").action ==
        RetryAction::authenticate);
  CHECK(canceled("etcdserver: revision of auth store is old").error.kind == ErrorKind::authentication);
  const Failure denied = canceled("rpc error: code = PermissionDenied desc = etcdserver: permission denied");
  CHECK(denied.error.kind == ErrorKind::authorization);
  CHECK(denied.action == RetryAction::none);
  const Failure other = canceled("etcdserver: no leader");
  CHECK(other.error.kind == ErrorKind::unavailable);
  CHECK(other.action == RetryAction::next_member);
  CHECK(other.error.message.find("no leader") != std::string::npos);
  const Failure compacted =
      cancel_failure(reply_of(R"({"result":{"canceled":true,"compact_revision":"219"}})"), kUrl);
  CHECK(compacted.error.kind == ErrorKind::invocation);
  CHECK(compacted.action == RetryAction::none);
  CHECK(compacted.error.message.find("219") != std::string::npos);
}

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

std::string take(WatchBacklog& backlog) {
  std::string keys;
  const auto events = backlog.take();
  if (events) {
    for (const WatchEvent& event : *events) keys += event.kv.key;
  }
  return keys;
}

TEST_CASE("events are returned by revision, in order, and a reply without events moves the next revision") {
  WatchBacklog backlog(3);
  CHECK(take(backlog).empty());
  backlog.add(reply(9, {{4, "a"}, {6, "b"}, {6, "c"}, {7, "d"}}));
  CHECK(backlog.next_revision() == 8);
  backlog.add(reply(9, {{9, "e"}}));
  for (const char* keys : {"a", "bc", "d", "e", ""}) CHECK(take(backlog) == keys);
  CHECK(backlog.next_revision() == 10);
  WatchBacklog quiet(3);
  quiet.add(reply(100, {{4, "a"}}));
  CHECK(quiet.next_revision() == 5);
  quiet.add(reply(100, {}));
  CHECK(quiet.next_revision() == 101);
  quiet.add(reply(50, {}));
  CHECK(quiet.next_revision() == 101);
}

TEST_CASE("a revision in several fragments is returned when it is complete") {
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

TEST_CASE("after a break, an incomplete revision comes again, and a complete one does not") {
  WatchBacklog backlog(3);
  backlog.add(reply(9, {{4, "a"}, {5, "b"}}, true));
  backlog.note_break();
  CHECK(backlog.next_revision() == 5);
  backlog.add(created(9));
  backlog.add(reply(9, {{4, "a"}, {5, "b"}, {5, "c"}}));
  CHECK(take(backlog) == "a");
  CHECK(take(backlog) == "bc");
  CHECK(take(backlog).empty());
}

}  // namespace
}  // namespace rest_fcgi::etcd
