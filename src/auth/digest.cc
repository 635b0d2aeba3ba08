// SPDX-License-Identifier: MIT
#include "auth/digest.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

void require(bool done) {
  if (!done) throw std::runtime_error("OpenSSL failed");
}

const DigestAlgorithm& sha256() {
  static const Result<DigestAlgorithm> algorithm = DigestAlgorithm::fetch("SHA256");
  require(algorithm.ok());
  return *algorithm;
}

}  // namespace

Result<DigestAlgorithm> DigestAlgorithm::fetch(const char* openssl_name) {
  std::shared_ptr<evp_md_st> algorithm(EVP_MD_fetch(nullptr, openssl_name, nullptr), EVP_MD_free);
  if (algorithm != nullptr) return DigestAlgorithm(std::move(algorithm));
  return Error{ErrorKind::configuration, format("OpenSSL does not offer {} on this host", openssl_name)};
}

std::string DigestAlgorithm::of(std::span<const std::string_view> parts) const {
  // Reuses one context in each thread, because making a context is slower than the digest of a short text.
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  require(EVP_DigestInit_ex2(context.get(), algorithm_.get(), nullptr) == 1);
  for (const std::string_view part : parts) {
    require(EVP_DigestUpdate(context.get(), part.data(), part.size()) == 1);
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context.get(), bytes.data(), &size) == 1);
  return {bytes.begin(), bytes.begin() + size};
}

KeyedDigest::KeyedDigest() : key_(random_bytes(32)) {
  // If OpenSSL has no SHA-256, this call throws. The program therefore fails at its start, and not at the
  // first login.
  static_cast<void>(sha256());
}

KeyedDigest::Value KeyedDigest::of(std::initializer_list<std::string_view> parts) const {
  std::array<std::uint64_t, 4> sizes;
  std::array<std::string_view, 9> all;
  std::size_t count = 0;
  all[count++] = key_;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    sizes[i] = parts.begin()[i].size();
    all[count++] = {reinterpret_cast<const char*>(&sizes[i]), sizeof sizes[i]};
    all[count++] = parts.begin()[i];
  }
  const std::string digest = sha256().of(std::span(all).first(count));
  Value value;
  std::copy(digest.begin(), digest.end(), value.begin());
  return value;
}

std::string sha256_digits(std::initializer_list<std::string_view> parts) {
  return to_hex(sha256().of(parts));
}

std::string random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  require(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(size)) == 1);
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  digits.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    digits += kDigits[static_cast<unsigned char>(byte) >> 4];
    digits += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return digits;
}

}  // namespace rest_fcgi::auth
