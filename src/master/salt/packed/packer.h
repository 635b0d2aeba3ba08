// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::salt {

/// Appends msgpack to a string. Each value has its shortest form. Texts become `str`, because masters do not
/// accept `bin` and extensions. Borrows `out`. Not synchronized. REQUIRES: the caller appends as many members
/// as it announced, fewer than 2^32.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  Packer& begin_map(std::size_t members);
  Packer& begin_array(std::size_t elements);

  Packer& text(std::string_view text);
  Packer& integer(std::int64_t value);
  Packer& unsigned_integer(std::uint64_t value);
  Packer& real(double value);
  Packer& boolean(bool value);
  Packer& nil();

  /// Appends a JSON value. Like Salt, converts two kinds of integers to text: integers that msgpack cannot
  /// hold, and integers of 20 digits, because Salt takes them for job ids.
  Packer& value(const JsonValue& value);

 private:
  std::string& out_;
};

}  // namespace rest_fcgi::salt
