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

struct evp_md_st;

namespace rest_fcgi::auth {

/// A message digest algorithm of OpenSSL. Callers keep the object, because `fetch` is slow. A DigestAlgorithm
/// is immutable and thread-safe.
class DigestAlgorithm {
 public:
  /// Gets an algorithm from OpenSSL by its name. Errors: configuration, if OpenSSL does not offer the
  /// algorithm, for example MD5 in FIPS mode.
  static Result<DigestAlgorithm> fetch(const char* openssl_name);

  /// Returns the digest of all parts joined without a separator.
  [[nodiscard]] std::string of(std::span<const std::string_view> parts) const;
  [[nodiscard]] std::string of(std::initializer_list<std::string_view> parts) const {
    return of(std::span(parts.begin(), parts.size()));
  }

 private:
  explicit DigestAlgorithm(std::shared_ptr<const evp_md_st> algorithm) : algorithm_(std::move(algorithm)) {}

  std::shared_ptr<const evp_md_st> algorithm_;
};

/// Computes the SHA-256 of texts together with a random key that never leaves the object. A caller may keep
/// such a digest of a password instead of the password. A KeyedDigest is immutable and thread-safe.
class KeyedDigest {
 public:
  using Value = std::array<char, 32>;

  KeyedDigest();

  /// Returns the digest of the key, the parts and the sizes of the parts. REQUIRES: at most four parts.
  [[nodiscard]] Value of(std::initializer_list<std::string_view> parts) const;

 private:
  std::string key_;
};

struct DigestHash {
  std::size_t operator()(const KeyedDigest::Value& digest) const noexcept {
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

/// Returns the SHA-256 of all parts joined without a separator, as 64 hexadecimal digits.
[[nodiscard]] std::string sha256_digits(std::initializer_list<std::string_view> parts);

[[nodiscard]] std::string random_bytes(std::size_t size);

[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace rest_fcgi::auth
