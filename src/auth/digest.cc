// SPDX-License-Identifier: MIT
#include "auth/digest.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

void require(bool done) {
  if (!done) throw std::bad_alloc();
}

/// To make one takes longer than the digest of a short text.
EVP_MD_CTX* context_of_this_thread() {
  thread_local std::unique_ptr<EVP_MD_CTX, FreeContext> context;
  if (context == nullptr) context.reset(EVP_MD_CTX_new());
  require(context != nullptr);
  return context.get();
}

}  // namespace

Result<DigestAlgorithm> DigestAlgorithm::fetch(const char* openssl_name) {
  std::shared_ptr<evp_md_st> algorithm(EVP_MD_fetch(nullptr, openssl_name, nullptr), EVP_MD_free);
  if (!algorithm) {
    return Error{ErrorKind::configuration, format("OpenSSL does not offer {} on this host", openssl_name)};
  }
  return DigestAlgorithm(std::move(algorithm));
}

DigestBytes DigestAlgorithm::of(std::span<const std::string_view> parts) const {
  EVP_MD_CTX* const context = context_of_this_thread();
  require(EVP_DigestInit_ex2(context, algorithm_.get(), nullptr) == 1);
  for (const std::string_view part : parts) {
    require(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  }
  DigestBytes result;
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(result.bytes_.data()), &size) == 1);
  result.size_ = size;
  // The context is kept, and what it holds of the digest is not.
  require(EVP_DigestInit_ex2(context, algorithm_.get(), nullptr) == 1);
  return result;
}

Result<KeyedDigest> KeyedDigest::make() {
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  WipedBytes key(32);
  if (auto drawn = fill_random(key); !drawn) return std::move(drawn).error();
  return KeyedDigest(*std::move(sha256), std::move(key));
}

KeyedDigest::Value KeyedDigest::of(std::initializer_list<std::string_view> parts) const {
  constexpr std::size_t kMostParts = 4;
  std::array<std::uint64_t, kMostParts> sizes;  // as bytes, for use inside this process only
  std::array<std::string_view, 1 + 2 * kMostParts> all;
  std::size_t count = 0;
  all[count++] = {key_.data(), key_.size()};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts.begin()[i];
    sizes[i] = part.size();
    all[count++] = {reinterpret_cast<const char*>(&sizes[i]), sizeof sizes[i]};
    all[count++] = part;
  }
  const DigestBytes digest = sha256_.of(std::span(all).first(count));
  Value value;
  std::memcpy(value.data(), digest.view().data(), value.size());
  return value;
}

std::string sha256_digits(std::initializer_list<std::string_view> parts) {
  static const auto sha256 = DigestAlgorithm::fetch("SHA256");
  require(sha256.ok());
  const WipedBytes digits = to_hex(sha256->of(parts).view());
  return {digits.begin(), digits.end()};
}

Result<void> fill_random(std::span<char> bytes) {
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size())) != 1) {
    return Error{ErrorKind::internal, "OpenSSL has no random bytes to give"};
  }
  return {};
}

WipedBytes to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  WipedBytes digits;
  digits.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    digits.push_back(kDigits[value >> 4]);
    digits.push_back(kDigits[value & 15]);
  }
  return digits;
}

}  // namespace rest_fcgi::auth
