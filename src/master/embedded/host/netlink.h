// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::embedded {

/// One entry of a kernel table, as rtnetlink sends it. Looks into the buffer of the dump.
class NetlinkEntry {
 public:
  /// `bytes` are what follows the message's header: a struct of `fixed` bytes, then attributes.
  NetlinkEntry(std::string_view bytes, std::size_t fixed);

  /// The struct in front; zeroes where the kernel sent less.
  template <class T>
  [[nodiscard]] T head() const {
    T value{};
    std::memcpy(&value, head_.data(), std::min(sizeof value, head_.size()));
    return value;
  }

  /// An attribute's bytes; empty where there is none of that type.
  [[nodiscard]] std::string_view attribute(std::uint16_t type) const;

  /// Of an attribute that is a text with a NUL behind it.
  [[nodiscard]] std::string_view text(std::uint16_t type) const;

  /// Of an attribute that is a 32-bit number; 0 where there is none.
  [[nodiscard]] std::uint32_t number(std::uint16_t type) const;

 private:
  std::string_view head_;
  std::map<std::uint16_t, std::string_view> attributes_;
};

/// Asks the kernel for a whole table, say RTM_GETLINK, whose entries start with a struct of `fixed` bytes.
/// No traffic on any network. Errors: internal, where the kernel does not answer.
Result<void> dump_kernel_table(std::uint16_t request, std::size_t fixed,
                               const std::function<void(const NetlinkEntry&)>& each);

}  // namespace rest_fcgi::embedded
