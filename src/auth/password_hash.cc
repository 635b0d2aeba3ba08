// SPDX-License-Identifier: MIT
#include "auth/password_hash.h"

#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

/// hashlib's names, which are Salt's, and OpenSSL's.
struct DigestName {
  std::string_view hashtype;
  const char* openssl;
};
constexpr DigestName kDigests[] = {
    {"md5", "MD5"},           {"sha1", "SHA1"},           {"sha224", "SHA224"},
    {"sha256", "SHA256"},     {"sha384", "SHA384"},       {"sha512", "SHA512"},
    {"sha3_224", "SHA3-224"}, {"sha3_256", "SHA3-256"},   {"sha3_384", "SHA3-384"},
    {"sha3_512", "SHA3-512"}, {"blake2b", "BLAKE2B-512"}, {"blake2s", "BLAKE2S-256"},
};

/// Are `digits` what the digest is in hexadecimal?
bool is_in_hex(const DigestBytes& digest, std::string_view digits) {
  const WipedBytes bytes = from_hex(digits);
  return equal_in_constant_time(digest.view(), {bytes.data(), bytes.size()});
}

class PlainHash final : public PasswordHash {
 public:
  explicit PlainHash(KeyedDigest digest) : digest_(std::move(digest)) {}

  [[nodiscard]] bool matches(std::string_view, SecretView password, std::string_view stored) const override {
    const auto a = digest_.of(password.reveal());
    const auto b = digest_.of(stored);
    return !stored.empty() && equal_in_constant_time({a.data(), a.size()}, {b.data(), b.size()});
  }

 private:
  KeyedDigest digest_;
};

class DigestHash final : public PasswordHash {
 public:
  explicit DigestHash(DigestAlgorithm algorithm) : algorithm_(std::move(algorithm)) {}

  [[nodiscard]] bool matches(std::string_view, SecretView password, std::string_view stored) const override {
    return is_in_hex(algorithm_.of({password.reveal()}), stored);
  }

 private:
  DigestAlgorithm algorithm_;
};

class HtdigestHash final : public PasswordHash {
 public:
  HtdigestHash(DigestAlgorithm md5, std::string realm) : md5_(std::move(md5)), realm_(std::move(realm)) {}

  [[nodiscard]] bool matches(std::string_view username, SecretView password,
                             std::string_view stored) const override {
    return is_in_hex(md5_.of({username, ":", realm_, ":", password.reveal()}), stored);
  }

 private:
  DigestAlgorithm md5_;
  std::string realm_;
};

class CryptHash final : public PasswordHash {
 public:
  [[nodiscard]] bool matches(std::string_view, SecretView password, std::string_view stored) const override {
    return crypt_matches(password, stored);
  }
};

Result<std::unique_ptr<PasswordHash>> make_plain_hash() {
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  return std::unique_ptr<PasswordHash>(std::make_unique<PlainHash>(*std::move(digest)));
}

Result<std::unique_ptr<PasswordHash>> make_digest_hash(const char* openssl_name) {
  auto algorithm = DigestAlgorithm::fetch(openssl_name);
  if (!algorithm) return std::move(algorithm).error();
  return std::unique_ptr<PasswordHash>(std::make_unique<DigestHash>(*std::move(algorithm)));
}

Error unknown_hashtype(std::string_view hashtype) {
  std::string accepted = "plaintext, crypt, htpasswd";
  for (const DigestName& digest : kDigests) accepted.append(", ").append(digest.hashtype);
  return {ErrorKind::configuration, format("\"{}\" is no hashtype; there are {}", hashtype, accepted)};
}

}  // namespace

Result<std::unique_ptr<PasswordHash>> make_password_hash(std::string_view hashtype) {
  if (hashtype == "plaintext" || hashtype == "plain") return make_plain_hash();
  if (hashtype == "crypt") return std::unique_ptr<PasswordHash>(std::make_unique<CryptHash>());
  if (hashtype == "htpasswd") return make_htpasswd_hash();
  for (const DigestName& digest : kDigests) {
    if (hashtype == digest.hashtype) return make_digest_hash(digest.openssl);
  }
  return unknown_hashtype(hashtype);
}

Result<std::unique_ptr<PasswordHash>> make_htdigest_hash(std::string realm) {
  auto md5 = DigestAlgorithm::fetch("MD5");
  if (!md5) return std::move(md5).error();
  return std::unique_ptr<PasswordHash>(std::make_unique<HtdigestHash>(*std::move(md5), std::move(realm)));
}

}  // namespace rest_fcgi::auth
