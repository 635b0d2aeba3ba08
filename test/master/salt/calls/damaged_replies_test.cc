// SPDX-License-Identifier: MIT
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../../support/vector_file.h"
#include "master/salt/calls/messages.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::salt {
namespace {

bool is_whole(const master::Job& job) {
  return !job.jid.empty() || job.minions.empty();
}

bool is_whole(const master::Started& started) {
  return !started.jid.empty() && !started.tag.empty();
}

bool is_whole(const master::WheelReply& wheel) {
  JsonDocument document;
  return !wheel.jid.empty() && document.parse(wheel.reply.text(), JsonLimits::none());
}

bool is_whole(const auth::Grant& grant) {
  return !grant.name.empty() && !grant.eauth.empty() && !grant.token.empty();
}

/// Returns whether `read` accepts the bytes. Checks that the result is complete, or that the error has a
/// message.
template <class T>
bool reads(Result<T> (*read)(std::string_view), std::string_view bytes) {
  const auto answer = read(bytes);
  if (!answer) {
    const bool refused =
        answer.error().kind == ErrorKind::authentication || answer.error().kind == ErrorKind::authorization;
    REQUIRE((refused || !answer.error().message.empty()));
  } else {
    REQUIRE(is_whole(*answer));
  }
  return answer.ok();
}

bool anybody_reads(std::string_view bytes) {
  const bool publish = reads(read_publish_reply, bytes);
  const bool runner = reads(read_runner_reply, bytes);
  const bool wheel = reads(read_wheel_reply, bytes);
  const bool made = reads(read_mk_token_reply, bytes);
  const bool known = reads(read_get_token_reply, bytes);
  return publish || runner || wheel || made || known;
}

}  // namespace

TEST_CASE("truncated and extended replies are errors") {
  for (const std::string_view name : test::kVectorFiles) {
    if (name.find("reply") == std::string_view::npos) continue;
    CAPTURE(name);
    const std::string reply = test::vector_file(name);
    for (std::size_t size = 0; size < reply.size(); ++size) {
      CHECK_FALSE(anybody_reads(std::string_view(reply).substr(0, size)));
    }
    CHECK_FALSE(anybody_reads(reply + '\xC0'));
  }
}

TEST_CASE("a reply with one changed byte is an error or a valid reply") {
  for (const std::string_view name : test::kVectorFiles) {
    if (name.find("reply") == std::string_view::npos) continue;
    CAPTURE(name);
    const std::string reply = test::vector_file(name);
    for (std::size_t at = 0; at < reply.size(); ++at) {
      for (const char byte : {'\x80', '\xA0', '\xC0', '\xC6', '\xDD', '\xFF'}) {
        std::string damaged = reply;
        damaged[at] = byte;
        anybody_reads(damaged);
      }
    }
  }
}

}  // namespace rest_fcgi::salt
