// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

/// Cuts a stream into the JSON objects that it is made of, with or without white space between them. Looks at
/// each byte once, however many pieces it comes in. Not synchronized.
class ObjectReader {
 public:
  explicit ObjectReader(std::size_t most) : most_(most) {}

  /// What came next.
  void append(std::string_view bytes);

  /// The next object's text: from its first bracket to the one that closes it, and not checked in between.
  /// Absent where more has to come. Errors: internal, where something else stands in front of an object, or
  /// where it is larger than `most` bytes; the stream is then of no use any more.
  [[nodiscard]] Result<std::optional<std::string>> next();

 private:
  /// Counts brackets up to the end of the object; false where that has not come yet.
  bool find_end();

  const std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0;  // where the object that is being read stands
  std::size_t at_ = 0;     // what was looked at ends here
  std::size_t depth_ = 0;  // of brackets that are open
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace rest_fcgi::etcd
