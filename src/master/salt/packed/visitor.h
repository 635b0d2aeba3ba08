// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

// Without MSGPACK_NO_BOOST, msgpack-cxx needs Boost.
#define MSGPACK_NO_BOOST
#include <msgpack/null_visitor.hpp>
#include <msgpack/unpack.hpp>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {

/// The base class of visitors for msgpack-cxx. Limits the depth, and reports why parsing stopped. Visitors
/// must not trust announced sizes, because 5 bytes can announce 2^32 elements. Not synchronized.
class BoundedVisitor : public msgpack::null_visitor {
 public:
  explicit BoundedVisitor(std::size_t depth = 0, std::size_t max_depth = kMaxDepth)
      : max_depth_(max_depth), depth_(depth) {}

  [[nodiscard]] const std::string& why() const noexcept { return why_; }

  bool start_array(std::uint32_t /*announced*/) { return enter(); }
  bool start_map(std::uint32_t /*announced*/) { return enter(); }
  bool end_array() { return leave(); }
  bool end_map() { return leave(); }
  void parse_error(std::size_t /*parsed*/, std::size_t /*at*/) { stop("a byte that cannot begin a value"); }
  void insufficient_bytes(std::size_t /*parsed*/, std::size_t /*at*/) {
    cut_short_ = why_.empty();
    stop("cut short");
  }

  /// Returns whether the bytes ended before the value was complete.
  [[nodiscard]] bool cut_short() const noexcept { return cut_short_; }

 protected:
  [[nodiscard]] std::size_t depth() const noexcept { return depth_; }

  bool enter() {
    if (depth_ == max_depth_) return stop(format("nested deeper than {} levels", max_depth_));
    ++depth_;
    return true;
  }

  bool leave() {
    --depth_;
    return true;
  }

  bool stop(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

 private:
  const std::size_t max_depth_;
  std::size_t depth_;
  std::string why_;
  bool cut_short_ = false;
};

/// Passes the value at the offset `at` to `visitor`, and moves `at` to the end of the value. Fails with
/// `internal`. The error names the problem and its byte offset.
template <class Visitor>
Result<void> parse_one(std::string_view bytes, std::size_t& at, Visitor& visitor) {
  std::string why;
  try {
    if (msgpack::parse(bytes.data(), bytes.size(), at, visitor)) return {};
    why = visitor.why();
  } catch (const msgpack::unpack_error& error) {
    why = error.what();
  }
  return Error{ErrorKind::internal, format("Malformed msgpack: {}: byte {}", why, at)};
}

inline Result<void> expect_end(std::string_view bytes, std::size_t at) {
  if (at == bytes.size()) return {};
  return Error{ErrorKind::internal, format("Malformed msgpack: more than one value: byte {}", at)};
}

}  // namespace rest_fcgi::salt
