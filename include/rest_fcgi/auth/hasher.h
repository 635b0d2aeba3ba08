// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct evp_md_ctx_st;

namespace rest_fcgi::auth {

/// Hashes bytes as they come, such as a file's, piece by piece. Not synchronized. Running out of memory is
/// std::bad_alloc, as with any allocation.
class Hasher {
 public:
  /// `name`: as Python's hashlib has it, `md5`, `sha256`, `sha3_256`, `blake2b`, ... Absent where there is
  /// no such hash, or where this host's OpenSSL does not offer it (as in its FIPS mode).
  [[nodiscard]] static std::optional<Hasher> make(std::string_view name);

  void update(std::string_view bytes);

  /// What all bytes so far give, in lower-case hexadecimal digits. Call once, last.
  [[nodiscard]] std::string finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  explicit Hasher(std::unique_ptr<evp_md_ctx_st, Free> context) : context_(std::move(context)) {}
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace rest_fcgi::auth
