// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rest_fcgi {

/// Owns a secret such as a token, and wipes the secret on destruction. A Secret cannot be printed, and only
/// `copy` copies it. A Secret is not thread-safe.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) : bytes_(text.begin(), text.end()) {}
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&& other) noexcept {
    bytes_.swap(other.bytes_);  // The destructor of `other` wipes the old secret.
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret();

  [[nodiscard]] Secret copy() const { return Secret(reveal().text); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

  /// A view of the secret's text.
  struct Revealed {
    std::string_view text;
  };
  [[nodiscard]] Revealed reveal() const noexcept { return {{bytes_.data(), bytes_.size()}}; }

 private:
  std::vector<char> bytes_;  // In contrast to a short std::string, a vector leaves no copy when it moves.
};

/// A view of a secret that another object owns, such as a password in a request's body.
class SecretView {
 public:
  SecretView() = default;
  explicit SecretView(std::string_view text) : text_(text) {}
  SecretView(const Secret& secret) : text_(secret.reveal().text) {}

  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::string_view reveal() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Compares two texts in a time that depends only on their lengths.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace rest_fcgi
