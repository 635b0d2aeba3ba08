// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/rsa_pair.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "auth/digest.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};

struct FreeText {
  void operator()(BIO* text) const noexcept { BIO_free(text); }
};
using Text = std::unique_ptr<BIO, FreeText>;

std::string_view view_of(const Text& text) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

constexpr std::array<std::string_view, 6> kHashTypes = {"md5",    "sha1",   "sha224",
                                                        "sha256", "sha384", "sha512"};

}  // namespace

Result<RsaPair> RsaPair::make(int bits) {
  const Error failed{ErrorKind::internal, "OpenSSL cannot generate an RSA key pair."};
  const std::unique_ptr<EVP_PKEY, FreeKey> key(EVP_RSA_gen(static_cast<unsigned>(bits)));
  const Text priv(BIO_new(BIO_s_mem()));
  const Text pub(BIO_new(BIO_s_mem()));
  const bool written = key && priv && pub &&
                       PEM_write_bio_PrivateKey_traditional(priv.get(), key.get(), nullptr, nullptr, 0,
                                                            nullptr, nullptr) == 1 &&
                       PEM_write_bio_PUBKEY(pub.get(), key.get()) == 1;
  if (!written) return failed;
  return RsaPair{Secret(view_of(priv)), std::string(view_of(pub))};
}

std::string_view pem_body(std::string_view pem) {
  pem.remove_prefix(pem.find('\n') + 1);
  return pem.substr(0, pem.rfind("-----END"));
}

Result<std::string> fingerprint_of(std::string_view text, std::string_view hash_type) {
  if (std::find(kHashTypes.begin(), kHashTypes.end(), hash_type) == kHashTypes.end()) {
    return Error{ErrorKind::invocation,
                 format("unknown hash_type {}; hash types: md5, sha1, sha224, sha256, sha384, sha512",
                        quoted_excerpt(hash_type))};
  }
  const auto digest = DigestAlgorithm::fetch(std::string(hash_type).c_str());
  if (!digest) return digest.error();
  const std::string digits = to_hex(digest->of({text}));
  std::string fingerprint;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i % 2 == 0) fingerprint += ':';
    fingerprint += digits[i];
  }
  return fingerprint;
}

}  // namespace rest_fcgi::auth
