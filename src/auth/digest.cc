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

template <std::size_t N>
std::string_view view(const std::array<char, N>& bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

Result<DigestAlgorithm> DigestAlgorithm::fetch(const char* openssl_name) {
  std::shared_ptr<evp_md_st> algorithm(EVP_MD_fetch(nullptr, openssl_name, nullptr), EVP_MD_free);
  if (!algorithm) {
    return Error{ErrorKind::configuration, format("OpenSSL does not offer {} on this host", openssl_name)};
  }
  return DigestAlgorithm(std::move(algorithm));
}

DigestBytes DigestAlgorithm::run(std::span<const std::string_view> parts) const {
  EVP_MD_CTX* const context = context_of_this_thread();
  require(EVP_DigestInit_ex2(context, algorithm_.get(), nullptr) == 1);
  for (const std::string_view part : parts) {
    require(EVP_DigestUpdate(context, part.data(), part.size()) == 1);
  }
  DigestBytes result;
  unsigned size = 0;
  require(EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(result.bytes_.data()), &size) == 1);
  result.size_ = size;
  return result;
}

DigestBytes DigestAlgorithm::of(std::span<const std::string_view> parts) const {
  DigestBytes result = run(parts);
  // The context is kept, and what it holds of the digest is not.
  require(EVP_DigestInit_ex2(context_of_this_thread(), algorithm_.get(), nullptr) == 1);
  return result;
}

Result<KeyedDigest> KeyedDigest::make() {
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  WipedBytes key(32);
  if (auto drawn = fill_random(key); !drawn) return std::move(drawn).error();
  return KeyedDigest(*std::move(sha256), key);
}

KeyedDigest::KeyedDigest(DigestAlgorithm sha256, std::span<const char> key) : sha256_(std::move(sha256)) {
  inner_.fill(0x36);
  outer_.fill(0x5c);
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner_[i] = static_cast<char>(inner_[i] ^ key[i]);
    outer_[i] = static_cast<char>(outer_[i] ^ key[i]);
  }
}

KeyedDigest::~KeyedDigest() {
  wipe(inner_.data(), inner_.size());
  wipe(outer_.data(), outer_.size());
}

// RFC 2104 by hand: a context of OpenSSL's own HMAC costs several times what its two digests do.
KeyedDigest::Value KeyedDigest::of(std::initializer_list<std::string_view> parts) const {
  std::array<std::uint64_t, kMostParts> sizes;  // as bytes, for use inside this process only
  std::array<std::string_view, 2 * kMostParts> all;
  std::size_t count = 0;
  all[count++] = view(inner_);
  for (const std::string_view* part = parts.begin(); part != parts.end(); ++part) {
    std::uint64_t& size = sizes[static_cast<std::size_t>(part - parts.begin())] = part->size();
    if (part + 1 != parts.end()) all[count++] = {reinterpret_cast<const char*>(&size), sizeof size};
    all[count++] = *part;
  }
  const auto inner = sha256_.run(std::span(all).first(count));
  const auto outer = sha256_.of({view(outer_), inner.view()});
  Value value;
  std::memcpy(value.data(), outer.view().data(), value.size());
  return value;
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
