// SPDX-License-Identifier: MIT
#include "auth/password_hash.h"

#include <crypt.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/auth/crypt_hash.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

/// `hashtype` is the name in Salt, from Python's hashlib. `openssl` is the name in OpenSSL. `size` is the
/// size of the digest in bytes.
struct DigestName {
  std::string_view hashtype;
  const char* openssl;
  std::size_t size;
};
constexpr DigestName kDigests[] = {
    {"md5", "MD5", 16},           {"sha1", "SHA1", 20},           {"sha224", "SHA224", 28},
    {"sha256", "SHA256", 32},     {"sha384", "SHA384", 48},       {"sha512", "SHA512", 64},
    {"sha3_224", "SHA3-224", 28}, {"sha3_256", "SHA3-256", 32},   {"sha3_384", "SHA3-384", 48},
    {"sha3_512", "SHA3-512", 64}, {"blake2b", "BLAKE2B-512", 64}, {"blake2s", "BLAKE2S-256", 32},
};

bool is_in_hex(std::string_view digest, std::string_view digits) {
  return equal_in_constant_time(to_hex(digest), lower(digits));
}

PasswordHash make_plain_hash() {
  return [digest = std::make_shared<const KeyedDigest>()](std::string_view, SecretView password,
                                                          std::string_view stored) {
    const auto a = digest->of({password.reveal()});
    const auto b = digest->of({stored});
    return !stored.empty() && equal_in_constant_time({a.data(), a.size()}, {b.data(), b.size()});
  };
}

Result<PasswordHash> make_digest_hash(const char* openssl_name) {
  auto fetched = DigestAlgorithm::fetch(openssl_name);
  if (!fetched) return std::move(fetched).error();
  return PasswordHash(
      [digest = *std::move(fetched)](std::string_view, SecretView password, std::string_view stored) {
        return is_in_hex(digest.of({password.reveal()}), stored);
      });
}

bool crypt_matches(std::string_view /*username*/, SecretView password, std::string_view stored) {
  const std::string setting(stored);
  const Secret phrase(std::string(password.reveal()) + '\0');
  // crypt_data has 32 KiB, and threads that handle requests have small stacks, so it is on the heap.
  const auto work = std::make_unique<crypt_data>();
  const char* const found = ::crypt_r(phrase.reveal().text.data(), setting.c_str(), work.get());
  // For an unknown hash method, libxcrypt returns `*0` or `*1`, which must not match a stored text.
  return found != nullptr && found[0] != '*' && equal_in_constant_time(found, stored);
}

constexpr std::string_view kApr1 = "$apr1$";
constexpr std::string_view kSha = "{SHA}";

constexpr std::string_view kCrypt64 = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number of characters of an MD5 digest in `kCrypt64`, the shortest digest that crypt(5) writes after
/// `$`.
constexpr std::size_t kShortestDigest = 22;

/// Returns whether a text has the form of crypt(5): `$` and fields, `_` and the extended DES form, or DES.
bool is_crypt_hash(const std::string& stored) {
  const int check = ::crypt_checksalt(stored.c_str());
  if (check == CRYPT_SALT_INVALID || check == CRYPT_SALT_METHOD_DISABLED) return false;
  if (stored.front() == '$') return stored.size() - stored.rfind('$') > kShortestDigest;
  constexpr std::size_t kSalt = 2, kDigest = 11, kExtended = 20;
  const bool is_extended = stored.front() == '_';
  const bool has_size = is_extended
                            ? stored.size() == kExtended
                            : stored.size() >= kSalt + kDigest && (stored.size() - kSalt) % kDigest == 0;
  return has_size && stored.find_first_not_of(kCrypt64, is_extended ? 1 : 0) == std::string::npos;
}

bool is_htpasswd_hash(std::string_view stored) {
  if (stored.starts_with(kApr1)) return stored.size() - stored.rfind('$') == kShortestDigest + 1;
  constexpr std::size_t kSha1InBase64 = 28;
  if (stored.starts_with(kSha)) return stored.size() == kSha.size() + kSha1InBase64;
  return is_crypt_hash(std::string(stored));
}

std::string md5crypt_text(std::string_view digest) {
  static constexpr std::array<std::array<std::size_t, 3>, 5> kOrder = {
      {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}}};
  const auto byte = [&](std::size_t i) { return unsigned{static_cast<unsigned char>(digest[i])}; };
  std::string text;
  const auto append = [&](unsigned value, int count) {
    for (; count > 0; --count, value >>= 6) text += kCrypt64[value & 63];
  };
  for (const auto& [a, b, c] : kOrder) append(byte(a) << 16 | byte(b) << 8 | byte(c), 4);
  append(byte(11), 2);
  return text;
}

/// Returns the md5crypt hash of a password in Apache's variant, as `apr_md5_encode` of APR does. `salt` is
/// the text between the dollar signs after `$apr1`.
std::string apr1(const DigestAlgorithm& md5, std::string_view password, std::string_view salt) {
  std::string digest = md5.of({password, salt, password});
  std::string first = std::string(password).append(kApr1).append(salt);
  for (std::size_t left = password.size(); left > 0; left -= std::min<std::size_t>(left, 16)) {
    first.append(digest, 0, left);
  }
  for (std::size_t bits = password.size(); bits > 0; bits >>= 1) {
    first += (bits & 1) != 0 ? '\0' : password.front();
  }
  digest = md5.of({first});
  for (unsigned round = 0; round < 1000; ++round) {
    const bool odd = round % 2 != 0;
    digest = md5.of({odd ? password : digest, round % 3 != 0 ? salt : "", round % 7 != 0 ? password : "",
                     odd ? std::string_view(digest) : password});
  }
  return md5crypt_text(digest);
}

Result<PasswordHash> make_htpasswd_hash() {
  auto md5 = DigestAlgorithm::fetch("MD5");
  if (!md5) return std::move(md5).error();
  auto sha1 = DigestAlgorithm::fetch("SHA1");
  if (!sha1) return std::move(sha1).error();
  return PasswordHash([md5 = *std::move(md5), sha1 = *std::move(sha1)](
                          std::string_view username, SecretView password, std::string_view stored) {
    if (stored.starts_with(kApr1)) {
      const std::string_view salt_and_digest = stored.substr(kApr1.size());
      const std::size_t dollar = salt_and_digest.find('$');
      if (dollar == std::string_view::npos) return false;
      const std::string_view salt = salt_and_digest.substr(0, std::min<std::size_t>(dollar, 8));
      return equal_in_constant_time(apr1(md5, password.reveal(), salt), salt_and_digest.substr(dollar + 1));
    }
    if (stored.starts_with(kSha)) {
      std::string text;
      append_base64(text, sha1.of({password.reveal()}));
      return equal_in_constant_time(text, stored.substr(kSha.size()));
    }
    return crypt_matches(username, password, stored);
  });
}

}  // namespace

Result<PasswordHash> make_password_hash(std::string_view hashtype) {
  if (hashtype == "plaintext" || hashtype == "plain") return make_plain_hash();
  if (hashtype == "crypt") return PasswordHash(crypt_matches);
  if (hashtype == "htpasswd") return make_htpasswd_hash();
  for (const DigestName& digest : kDigests) {
    if (hashtype == digest.hashtype) return make_digest_hash(digest.openssl);
  }
  std::string accepted = "plaintext, crypt, htpasswd";
  for (const DigestName& digest : kDigests) accepted.append(", ").append(digest.hashtype);
  return Error{ErrorKind::configuration,
               format("unknown hashtype \"{}\"; hashtypes: {}", hashtype, accepted)};
}

bool is_hash_or_locked(std::string_view hashtype, std::string_view stored) {
  if (stored.empty()) return false;
  if (hashtype == "plaintext" || hashtype == "plain") return true;
  if (stored.front() == '!' || stored.front() == '*') return true;
  if (hashtype == "crypt") return is_crypt_hash(std::string(stored));
  if (hashtype == "htpasswd") return is_htpasswd_hash(stored);
  const std::string_view digest = hashtype == "htdigest" ? "md5" : hashtype;
  const auto* const known = std::find_if(std::begin(kDigests), std::end(kDigests),
                                         [digest](const DigestName& one) { return one.hashtype == digest; });
  return known != std::end(kDigests) && stored.size() == 2 * known->size &&
         stored.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

Result<PasswordHash> make_htdigest_hash(std::string realm) {
  auto md5 = DigestAlgorithm::fetch("MD5");
  if (!md5) return std::move(md5).error();
  return PasswordHash([md5 = *std::move(md5), realm = std::move(realm)](
                          std::string_view username, SecretView password, std::string_view stored) {
    return is_in_hex(md5.of({username, ":", realm, ":", password.reveal()}), stored);
  });
}

Result<std::string> crypt_hash(SecretView password) {
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting{};
  if (::crypt_gensalt_rn(nullptr, 0, nullptr, 0, setting.data(), static_cast<int>(setting.size())) ==
      nullptr) {
    return Error{ErrorKind::internal, "crypt(3) cannot generate a salt"};
  }
  const Secret phrase(std::string(password.reveal()) + '\0');
  const auto work = std::make_unique<crypt_data>();
  const char* const hash = ::crypt_r(phrase.reveal().text.data(), setting.data(), work.get());
  if (hash == nullptr || hash[0] == '*') {
    return Error{ErrorKind::configuration,
                 "crypt(3) cannot hash the password; it may be too long: choose a shorter one"};
  }
  return std::string(hash);
}

}  // namespace rest_fcgi::auth
