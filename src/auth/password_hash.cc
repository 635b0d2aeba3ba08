// SPDX-License-Identifier: MIT
#include "auth/password_hash.h"

#include <crypt.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "auth/digest.h"
#include "rest_fcgi/core/base64.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

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

bool same(const WipedBytes& computed, std::string_view stored) {
  return equal_in_constant_time({computed.data(), computed.size()}, stored);
}

/// Are `digits`, of either case, what the digest is in hexadecimal?
bool is_in_hex(const DigestBytes& digest, std::string_view digits) {
  WipedBytes lowered(digits.begin(), digits.end());
  for (char& digit : lowered) digit = lower(digit);
  return same(to_hex(digest.view()), {lowered.data(), lowered.size()});
}

Result<PasswordHash> make_plain_hash() {
  auto made = KeyedDigest::make();
  if (!made) return std::move(made).error();
  const auto digest = std::make_shared<const KeyedDigest>(*std::move(made));
  return PasswordHash([digest](std::string_view, SecretView password, std::string_view stored) {
    const auto a = digest->of(password.reveal());
    const auto b = digest->of(stored);
    return !stored.empty() && equal_in_constant_time({a.data(), a.size()}, {b.data(), b.size()});
  });
}

Result<PasswordHash> make_digest_hash(const char* openssl_name) {
  auto fetched = DigestAlgorithm::fetch(openssl_name);
  if (!fetched) return std::move(fetched).error();
  return PasswordHash(
      [digest = *std::move(fetched)](std::string_view, SecretView password, std::string_view stored) {
        return is_in_hex(digest.of({password.reveal()}), stored);
      });
}

constexpr std::size_t kUnreadable = std::numeric_limits<std::size_t>::max();

/// Is `stored` crypt(3) of the password, by whatever method it names? Running out of memory is
/// std::bad_alloc.
bool crypt_matches(std::string_view /*username*/, SecretView password, std::string_view stored) {
  const std::string setting(stored);
  WipedBytes phrase(password.reveal().begin(), password.reveal().end());
  phrase.push_back('\0');
  // On the heap: it has 32 KiB, and a request's thread has a small stack.
  std::vector<crypt_data, WipingAllocator<crypt_data>> work(1);
  const char* found = ::crypt_r(phrase.data(), setting.c_str(), work.data());
  // libxcrypt says `*0` or `*1` where it can make nothing of the setting; and where it has no memory, which
  // is no wrong password.
  if (found != nullptr && found[0] != '*') return equal_in_constant_time(found, stored);
  const std::size_t memory = memory_of_hash(stored);
  if (memory > 0 && memory < kUnreadable) {
    void* const room = ::mmap(nullptr, memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    ::munmap(room, memory);
  }
  return false;
}

Error unknown_hashtype(std::string_view hashtype) {
  std::string accepted = "plaintext, crypt, htpasswd";
  for (const DigestName& digest : kDigests) accepted.append(", ").append(digest.hashtype);
  return {ErrorKind::configuration, format("\"{}\" is no hashtype; there are {}", hashtype, accepted)};
}

constexpr std::string_view kApr1 = "$apr1$";
constexpr std::string_view kSha = "{SHA}";

constexpr std::string_view kCrypt64 = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Appends `count` digits of 6 bits each, the lowest first, in crypt(5)'s alphabet.
void append_crypt64(WipedBytes& out, unsigned value, int count) {
  for (; count > 0; --count, value >>= 6) out.push_back(kCrypt64[value & 63]);
}

/// The 16 bytes of an MD5 in the order that md5crypt writes them.
WipedBytes md5crypt_text(std::string_view digest) {
  static constexpr std::array<std::array<std::size_t, 3>, 5> kOrder = {
      {{0, 6, 12}, {1, 7, 13}, {2, 8, 14}, {3, 9, 15}, {4, 10, 5}}};
  const auto byte = [&](std::size_t i) {
    return static_cast<unsigned>(static_cast<unsigned char>(digest[i]));
  };
  WipedBytes text;
  for (const auto& [a, b, c] : kOrder) append_crypt64(text, byte(a) << 16 | byte(b) << 8 | byte(c), 4);
  append_crypt64(text, byte(11), 2);
  return text;
}

/// Apache's variant of md5crypt; `salt` is the part between the dollar signs.
WipedBytes apr1(const DigestAlgorithm& md5, std::string_view password, std::string_view salt) {
  DigestBytes digest = md5.of({password, salt, password});
  WipedBytes first(password.begin(), password.end());
  const auto append = [&](std::string_view part) { first.insert(first.end(), part.begin(), part.end()); };
  append(kApr1);
  append(salt);
  for (std::size_t left = password.size(); left > 0; left -= std::min<std::size_t>(left, 16)) {
    append(digest.view().substr(0, left));
  }
  // The method's authors meant other bytes here; what they wrote is what everybody's files hold.
  for (std::size_t bits = password.size(); bits > 0; bits >>= 1) {
    append((bits & 1) != 0 ? std::string_view("\0", 1) : password.substr(0, 1));
  }
  digest = md5.of({{first.data(), first.size()}});
  for (unsigned round = 0; round < 1000; ++round) {
    const bool odd = round % 2 != 0;
    digest = md5.of({odd ? password : digest.view(), round % 3 != 0 ? salt : "",
                     round % 7 != 0 ? password : "", odd ? digest.view() : password});
  }
  return md5crypt_text(digest.view());
}

/// `salt_and_digest`: what follows `$apr1$`.
bool apr1_matches(const DigestAlgorithm& md5, SecretView password, std::string_view salt_and_digest) {
  const std::size_t dollar = salt_and_digest.find('$');
  if (dollar == std::string_view::npos) return false;
  const std::string_view salt = salt_and_digest.substr(0, std::min<std::size_t>(dollar, 8));
  return same(apr1(md5, password.reveal(), salt), salt_and_digest.substr(dollar + 1));
}

Result<PasswordHash> make_htpasswd_hash() {
  auto md5 = DigestAlgorithm::fetch("MD5");
  if (!md5) return std::move(md5).error();
  auto sha1 = DigestAlgorithm::fetch("SHA1");
  if (!sha1) return std::move(sha1).error();
  return PasswordHash([md5 = *std::move(md5), sha1 = *std::move(sha1)](
                          std::string_view username, SecretView password, std::string_view stored) {
    if (stored.starts_with(kApr1)) return apr1_matches(md5, password, stored.substr(kApr1.size()));
    if (stored.starts_with(kSha)) {
      WipedBytes text;
      append_base64(text, sha1.of({password.reveal()}).view());
      return same(text, stored.substr(kSha.size()));
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
  return unknown_hashtype(hashtype);
}

std::size_t memory_of_hash(std::string_view stored) {
  constexpr std::size_t kLargestLog2 = 40;
  constexpr std::size_t kOneDigit = 48;  // what one digit of yescrypt's numbers says; larger ones have more
  const bool is_scrypt = stored.starts_with("$7$");
  if (!is_scrypt && !stored.starts_with("$y$") && !stored.starts_with("$gy$")) return 0;
  stored.remove_prefix(stored.find('$', 1) + 1);
  bool is_read = true;
  const auto digit = [&](std::size_t i) {
    const std::size_t value = i < stored.size() ? kCrypt64.find(stored[i]) : std::string_view::npos;
    is_read = is_read && value != std::string_view::npos;
    return is_read ? value : 0;
  };
  // scrypt: log2 N, five digits of r; yescrypt: flavor, log2 N - 1, r - 1
  const std::size_t log2_n = is_scrypt ? digit(0) : digit(1) + 1;
  std::size_t r = is_scrypt ? 0 : digit(2) + 1;
  for (std::size_t i = 5; is_scrypt && i > 0; --i) r = r * kCrypt64.size() + digit(i);
  if (!is_scrypt) is_read = is_read && digit(0) < kOneDigit && r <= kOneDigit;
  return is_read && log2_n <= kLargestLog2 ? std::size_t{128} * r << log2_n : kUnreadable;
}

Result<PasswordHash> make_htdigest_hash(std::string realm) {
  auto md5 = DigestAlgorithm::fetch("MD5");
  if (!md5) return std::move(md5).error();
  return PasswordHash([md5 = *std::move(md5), realm = std::move(realm)](
                          std::string_view username, SecretView password, std::string_view stored) {
    return is_in_hex(md5.of({username, ":", realm, ":", password.reveal()}), stored);
  });
}

}  // namespace rest_fcgi::auth
