// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/hasher.h"

#include <algorithm>
#include <array>
#include <new>

#include <openssl/evp.h>

#include "auth/digest.h"

namespace rest_fcgi::auth {
namespace {

struct Name {
  std::string_view python;
  const char* openssl;
};

constexpr std::array<Name, 12> kNames = {{{"md5", "MD5"},
                                          {"sha1", "SHA1"},
                                          {"sha224", "SHA224"},
                                          {"sha256", "SHA256"},
                                          {"sha384", "SHA384"},
                                          {"sha512", "SHA512"},
                                          {"sha3_224", "SHA3-224"},
                                          {"sha3_256", "SHA3-256"},
                                          {"sha3_384", "SHA3-384"},
                                          {"sha3_512", "SHA3-512"},
                                          {"blake2b", "BLAKE2B-512"},
                                          {"blake2s", "BLAKE2S-256"}}};

struct FreeAlgorithm {
  void operator()(EVP_MD* algorithm) const noexcept { EVP_MD_free(algorithm); }
};

void require(bool done) {
  if (!done) throw std::bad_alloc();
}

}  // namespace

void Hasher::Free::operator()(evp_md_ctx_st* context) const noexcept {
  EVP_MD_CTX_free(context);
}

std::optional<Hasher> Hasher::make(std::string_view name) {
  const auto known =
      std::find_if(kNames.begin(), kNames.end(), [name](const Name& one) { return one.python == name; });
  if (known == kNames.end()) return std::nullopt;
  const std::unique_ptr<EVP_MD, FreeAlgorithm> algorithm(EVP_MD_fetch(nullptr, known->openssl, nullptr));
  if (!algorithm) return std::nullopt;
  std::unique_ptr<evp_md_ctx_st, Free> context(EVP_MD_CTX_new());
  require(context != nullptr && EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) == 1);
  return Hasher(std::move(context));
}

void Hasher::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Hasher::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1);
  const WipedBytes digits = to_hex(std::string(bytes.begin(), bytes.begin() + size));
  return {digits.begin(), digits.end()};
}

}  // namespace rest_fcgi::auth
