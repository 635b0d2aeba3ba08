// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace rest_fcgi::returner {

/// Appends numbers, in this host's order of bytes, and texts, each after its length, to `out`, which it
/// borrows. Not synchronized.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}

  template <class Number>
  Packer& number(Number value) {
    static_assert(std::is_integral_v<Number>);
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out_.append(bytes, sizeof value);
    return *this;
  }

  Packer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    out_.append(value);
    return *this;
  }

 private:
  std::string& out_;
};

/// Takes apart what a Packer wrote. Texts are views of the bytes that it was given. Once something is not
/// there, `ok()` is false, and all else is 0 or empty. Not synchronized.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  Number number() {
    static_assert(std::is_integral_v<Number>);
    Number value = 0;
    if (const std::string_view taken = take(sizeof value); !taken.empty()) {
      std::memcpy(&value, taken.data(), sizeof value);
    }
    return value;
  }

  std::string_view text() { return take(number<std::uint32_t>()); }

  [[nodiscard]] std::string_view rest() const noexcept { return bytes_; }
  [[nodiscard]] bool at_end() const noexcept { return bytes_.empty(); }
  [[nodiscard]] bool ok() const noexcept { return ok_; }

 private:
  std::string_view take(std::size_t size) {
    ok_ = ok_ && size <= bytes_.size();
    if (!ok_) {
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }

  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace rest_fcgi::returner
