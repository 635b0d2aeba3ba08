// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

struct evp_md_st;

namespace rest_fcgi::auth {

/// What a message digest gave, often of a password. Wiped when it goes. Value type.
class DigestBytes {
 public:
  DigestBytes() = default;
  DigestBytes(const DigestBytes&) = default;
  DigestBytes& operator=(const DigestBytes&) = default;
  ~DigestBytes() { wipe(bytes_.data(), size_); }

  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  friend class DigestAlgorithm;
  std::array<char, 64> bytes_{};
  std::size_t size_ = 0;
};

/// One of OpenSSL's message digests, fetched once: a fetch costs more than the digest of a short text. Copies
/// share it. Immutable; thread-safe. Running out of memory is std::bad_alloc, as with any allocation.
class DigestAlgorithm {
 public:
  /// Errors: configuration, where this host's OpenSSL does not offer it (as in its FIPS mode).
  static Result<DigestAlgorithm> fetch(const char* openssl_name);

  /// Of all parts, one right after the other.
  [[nodiscard]] DigestBytes of(std::span<const std::string_view> parts) const;
  [[nodiscard]] DigestBytes of(std::initializer_list<std::string_view> parts) const {
    return of(std::span(parts.begin(), parts.size()));
  }

 private:
  explicit DigestAlgorithm(std::shared_ptr<const evp_md_st> algorithm) : algorithm_(std::move(algorithm)) {}

  std::shared_ptr<const evp_md_st> algorithm_;
};

/// SHA-256 of a random key and of texts. The key is drawn when the object is made and never leaves it, so
/// that the value of a password may be kept where the password may not. Immutable; thread-safe.
class KeyedDigest {
 public:
  using Value = std::array<char, 32>;

  /// Errors: configuration or internal, where OpenSSL has no SHA-256 or no randomness.
  static Result<KeyedDigest> make();

  /// Returns the value of these parts and the borders between them: ("ab", "c") is not ("a", "bc").
  /// REQUIRES: at most four parts. Different numbers of parts may have the same value.
  [[nodiscard]] Value of(std::initializer_list<std::string_view> parts) const;
  [[nodiscard]] Value of(std::string_view a, std::string_view b = {}, std::string_view c = {}) const {
    return of({a, b, c});
  }

 private:
  KeyedDigest(DigestAlgorithm sha256, WipedBytes key) : sha256_(std::move(sha256)), key_(std::move(key)) {}

  DigestAlgorithm sha256_;
  WipedBytes key_;
};

/// Hash of what a keyed digest gave: some of its bits, which are as good as any others.
struct DigestHash {
  std::size_t operator()(const KeyedDigest::Value& digest) const noexcept {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

/// Returns the SHA-256 of all parts, one right after the other, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_digits(std::initializer_list<std::string_view> parts);

/// Fills `bytes` from the system's random source. Errors: internal.
Result<void> fill_random(std::span<char> bytes);

/// Lower-case hexadecimal digits.
[[nodiscard]] WipedBytes to_hex(std::string_view bytes);

}  // namespace rest_fcgi::auth
