// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "gateway/fastcgi/request.h"

using rest_fcgi::ErrorKind;
using rest_fcgi::gateway::Body;
using rest_fcgi::gateway::BodyBudget;
using rest_fcgi::gateway::BodyLimits;
using End = Body::End;

namespace {

/// A stream as libfcgi makes them, whose buffer is filled from a list of chunks instead of from a connection.
class FakeStream {
 public:
  explicit FakeStream(std::deque<std::string> chunks, int error = 0)
      : chunks_(std::move(chunks)), error_(error) {
    stream_.isReader = 1;
    stream_.rdNext = stream_.stop = stream_.stopUnget = buffer_.data();
    stream_.fillBuffProc = fill;
    stream_.data = this;
  }
  FakeStream(const FakeStream&) = delete;
  FakeStream& operator=(const FakeStream&) = delete;

  FCGX_Stream& stream() { return stream_; }
  [[nodiscard]] bool wiped() const {
    return std::all_of(buffer_.begin(), buffer_.end(), [](unsigned char c) { return c == 0; });
  }
  [[nodiscard]] std::size_t left() const { return chunks_.size(); }

 private:
  static void fill(FCGX_Stream* stream) {
    auto& self = *static_cast<FakeStream*>(stream->data);
    if (self.chunks_.empty()) {
      stream->isClosed = 1;
      stream->FCGI_errno = self.error_;
      return;
    }
    const std::string chunk = self.chunks_.front();
    self.chunks_.pop_front();
    std::copy(chunk.begin(), chunk.end(), self.buffer_.begin());
    stream->rdNext = self.buffer_.data();
    stream->stop = stream->rdNext + chunk.size();
  }

  std::deque<std::string> chunks_;
  int error_;
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(1024);
  FCGX_Stream stream_ = {};
};

BodyLimits limits(std::size_t max_size = 100) {
  return {.max_size = max_size, .max_discarded = 1000, .discard_time = std::chrono::minutes(1)};
}

struct Refusal {
  ErrorKind kind;
  std::string message;
};

/// Why `chunks` are no body; the stream is read to its end all the same.
Refusal refusal(std::deque<std::string> chunks, std::string_view content_length) {
  FakeStream in(std::move(chunks));
  Body body(limits());
  CHECK(body.read(in.stream(), content_length) == End::complete);
  CHECK(in.left() == 0);
  CHECK(in.wiped());
  const auto content = body.content();
  REQUIRE(!content);
  return {content.error().kind, content.error().message};
}

}  // namespace

TEST_CASE("a body is what its chunks give together") {
  FakeStream in({"[{\"client\"", ": ", "\"local\"}]"});
  Body body(limits());
  CHECK(body.read(in.stream(), "21") == End::complete);
  REQUIRE(body.content());
  CHECK(*body.content() == "[{\"client\": \"local\"}]");
}

TEST_CASE("a body without CONTENT_LENGTH is what the stream holds") {
  FakeStream in({"abc", "def"});
  Body body(limits());
  CHECK(body.read(in.stream(), "") == End::complete);
  CHECK(*body.content() == "abcdef");
}

TEST_CASE("a body may be as large as the limit, with and without CONTENT_LENGTH") {
  for (const char* length : {"100", ""}) {
    FakeStream in({std::string(60, 'x'), std::string(40, 'x')});
    Body body(limits());
    CHECK(body.read(in.stream(), length) == End::complete);
    REQUIRE(body.content());
    CHECK(body.content()->size() == 100);
  }
}

TEST_CASE("nothing of a body stays in libfcgi's buffer") {
  FakeStream in({"password", "is"});
  Body body(limits());
  CHECK(body.read(in.stream(), "10") == End::complete);
  CHECK(in.wiped());
}

TEST_CASE("a body that was wiped is gone from the buffer it was in") {
  FakeStream in({"password"});
  Body body(limits());
  CHECK(body.read(in.stream(), "8") == End::complete);
  const char* bytes = body.content()->data();
  REQUIRE(std::string_view(bytes, 8) == "password");
  body.wipe();
  // The buffer itself is kept for the next body, so that one may still look at it.
  REQUIRE(body.content()->data() == bytes);
  CHECK(std::string_view(bytes, 8) == std::string_view("\0\0\0\0\0\0\0\0", 8));
}

TEST_CASE("a large buffer is given back") {
  FakeStream in(std::deque<std::string>(100, std::string(1000, 'x')));
  Body body(limits(200'000));
  CHECK(body.read(in.stream(), "100000") == End::complete);
  REQUIRE(body.content()->size() == 100'000);
  body.wipe();
  CHECK(body.content()->data() == nullptr);
}

TEST_CASE("bodies that do not fit into the budget together are unavailable, until others are gone") {
  BodyBudget budget(100);
  Body first(limits(), &budget);
  Body second(limits(), &budget);
  const auto read = [](Body& body) {
    FakeStream in({std::string(40, 'x'), std::string(20, 'x')});
    CHECK(body.read(in.stream(), "60") == End::complete);
    return body.content();
  };
  CHECK(read(first));
  const auto refused = read(second);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message.find("max_body_bytes") != std::string::npos);
  CHECK_FALSE(read(second));
  CHECK(read(first));
  first.wipe();
  CHECK(read(second));
}

TEST_CASE("a declared length beyond the limit is too large, whatever comes") {
  const auto [kind, message] = refusal({"x"}, "101");
  CHECK(kind == ErrorKind::too_large);
  CHECK(message == "Request body is larger than max_request_body_size (100 bytes)");
}

TEST_CASE("a declared length beyond all numbers is too large") {
  CHECK(refusal({}, "99999999999999999999999999").kind == ErrorKind::too_large);
}

TEST_CASE("a body that grows beyond the limit is too large, declared, undeclared or lied about") {
  for (const char* length : {"", "5", "100"}) {
    const auto [kind, message] = refusal({std::string(100, 'x'), "x", "x"}, length);
    CHECK(kind == ErrorKind::too_large);
    CHECK(message == "Request body is larger than max_request_body_size (100 bytes)");
  }
}

TEST_CASE("a body shorter or longer than declared is malformed, and the message has both numbers") {
  const auto shorter = refusal({"abc"}, "5");
  CHECK(shorter.kind == ErrorKind::malformed);
  CHECK(shorter.message == "Request body has 3 bytes, and CONTENT_LENGTH says 5");
  const auto longer = refusal({"abc", "def"}, "5");
  CHECK(longer.kind == ErrorKind::malformed);
  CHECK(longer.message == "Request body has 6 bytes, and CONTENT_LENGTH says 5");
  CHECK(refusal({"abc"}, "0").message == "Request body has 3 bytes, and CONTENT_LENGTH says 0");
}

TEST_CASE("a length that is no plain number is malformed, and the message shows it") {
  for (const char* length : {"-1", "+5", " 5", "5 ", "0x5", "5.0", "1e3", "five", "5,5"}) {
    const auto [kind, message] = refusal({"abcde"}, length);
    CHECK(kind == ErrorKind::malformed);
    CHECK(message.find("'" + std::string(length) + "'") != std::string::npos);
  }
  CHECK(refusal({}, std::string(5000, 'x')).message.size() < 200);
}

TEST_CASE("a refused body is thrown away up to a bounded size") {
  FakeStream in(std::deque<std::string>(20, std::string(100, 'x')));
  Body body(limits());
  CHECK(body.read(in.stream(), "5000") == End::abandoned);
  CHECK(in.left() == 9);
  CHECK(body.content().error().kind == ErrorKind::too_large);
  CHECK(in.wiped());
}

TEST_CASE("a refused body is thrown away for a bounded time") {
  FakeStream in({"x", "x"});
  BodyLimits none = limits();
  none.discard_time = std::chrono::milliseconds(-1);
  Body body(none);
  CHECK(body.read(in.stream(), "5000") == End::abandoned);
  CHECK(in.left() == 1);
}

TEST_CASE("a stream that breaks is told from one that ends") {
  FakeStream in({"abc"}, FCGX_PROTOCOL_ERROR);
  Body body(limits());
  CHECK(body.read(in.stream(), "3") == End::broken);
}

TEST_CASE("one body after the other starts from nothing") {
  Body body(limits());
  FakeStream bad({"abc"});
  CHECK(body.read(bad.stream(), "nonsense") == End::complete);
  CHECK(!body.content());
  FakeStream good({"de"});
  CHECK(body.read(good.stream(), "") == End::complete);
  REQUIRE(body.content());
  CHECK(*body.content() == "de");
}
