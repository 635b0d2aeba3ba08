// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/rsa_pair.h"

#include <memory>
#include <string_view>
#include <utility>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "auth/digest.h"

namespace rest_fcgi::auth {
namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};

/// Wipes what was written when it goes.
struct FreeText {
  void operator()(BIO* text) const noexcept { BIO_free(text); }
};
using Text = std::unique_ptr<BIO, FreeText>;

std::string_view view_of(const Text& text) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// Salt's: of the lines between the first and the last, with their ends.
std::string fingerprint_of(std::string_view pem, const DigestAlgorithm& sha256) {
  pem.remove_prefix(pem.find('\n') + 1);
  pem = pem.substr(0, pem.rfind("-----END"));
  const WipedBytes digits = to_hex(sha256.of({pem}).view());
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && i % 2 == 0) text += ':';
    text += digits[i];
  }
  return text;
}

}  // namespace

Result<RsaPair> RsaPair::make(int bits) {
  const Error failed{ErrorKind::internal, "OpenSSL makes no RSA key."};
  const auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return sha256.error();
  const std::unique_ptr<EVP_PKEY, FreeKey> key(EVP_RSA_gen(static_cast<unsigned>(bits)));
  const Text priv(BIO_new(BIO_s_mem()));
  const Text pub(BIO_new(BIO_s_mem()));
  const bool written = key && priv && pub &&
                       PEM_write_bio_PrivateKey_traditional(priv.get(), key.get(), nullptr, nullptr, 0,
                                                            nullptr, nullptr) == 1 &&
                       PEM_write_bio_PUBKEY(pub.get(), key.get()) == 1;
  if (!written) return failed;
  return RsaPair{Secret(view_of(priv)), std::string(view_of(pub)), fingerprint_of(view_of(pub), *sha256)};
}

}  // namespace rest_fcgi::auth
