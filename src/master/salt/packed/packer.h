// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::salt {

/// Appends msgpack to bytes that are wiped, since requests hold passwords and tokens. Everything is in its
/// shortest form, text is `str`, and there is neither `bin` nor an extension: the types that a master takes
/// from a client. Borrows `out`. Not synchronized.
///
/// REQUIRES of the caller: a map is followed by as many keys and values, an array by as many values, as were
/// said; no text and no number of elements of 2^32 or more.
class Packer {
 public:
  explicit Packer(WipedBytes& out) : out_(out) {}

  Packer& begin_map(std::size_t members);
  Packer& begin_array(std::size_t elements);

  Packer& text(std::string_view text);
  Packer& integer(std::int64_t value);
  Packer& unsigned_integer(std::uint64_t value);
  Packer& real(double value);
  Packer& boolean(bool value);
  Packer& nil();

  /// A value that a caller sent as JSON. An integer that msgpack cannot hold is sent as the text of its
  /// digits, as Salt's packer does; so is one of 20 digits, which Salt takes for a job id wherever it finds
  /// one.
  Packer& value(const JsonValue& value);

 private:
  WipedBytes& out_;
};

}  // namespace rest_fcgi::salt
