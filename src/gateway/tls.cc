// SPDX-License-Identifier: MIT
#include "gateway/tls.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "gateway/client_certificates.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// An error names the module, the option and the file.
struct Files {
  const HttpOptions& options;

  [[nodiscard]] Error failure(std::string_view option, const std::string& path, std::string why) const {
    if (::access(path.c_str(), R_OK) != 0 && errno == EACCES) why = why_unreadable(path);
    return wrong_setting(format("{}: {}", options.name, option), format("{}: {}", path, why));
  }

  Result<void> load_certificate(SSL_CTX& context) const {
    if (SSL_CTX_use_certificate_chain_file(&context, options.ssl_crt.c_str()) == 1) return {};
    return failure("ssl_crt", options.ssl_crt, openssl_text());
  }

  Result<void> load_key(SSL_CTX& context) const {
    struct stat status {};
    if (::stat(options.ssl_key.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0) {
      log::warning(
          format("{}: ssl_key: {}: every user of this host can read this file, expected a mode such as 0640",
                 options.name, options.ssl_key));
    }
    // Sets a callback that gives no passphrase. Without the callback, OpenSSL would ask for the passphrase on
    // a terminal.
    SSL_CTX_set_default_passwd_cb(&context, [](char*, int, int, void*) { return -1; });
    if (SSL_CTX_use_PrivateKey_file(&context, options.ssl_key.c_str(), SSL_FILETYPE_PEM) == 1) {
      if (SSL_CTX_check_private_key(&context) == 1) return {};
    }
    const int reason = ERR_GET_REASON(ERR_peek_error());
    const std::string text = openssl_text();
    if (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH) {
      return failure("ssl_key", options.ssl_key,
                     format("it is not the key of the certificate {}", options.ssl_crt));
    }
    return failure("ssl_key", options.ssl_key, text);
  }

  Result<void> load_chain(SSL_CTX& context) const {
    if (options.ssl_chain.empty()) return {};
    const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(options.ssl_chain.c_str(), "r"),
                                                         &BIO_free);
    if (!file) return failure("ssl_chain", options.ssl_chain, openssl_text());
    std::size_t added = 0;
    while (X509* certificate = PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr)) {
      if (SSL_CTX_add0_chain_cert(&context, certificate) != 1) {
        X509_free(certificate);
        return failure("ssl_chain", options.ssl_chain, openssl_text());
      }
      ++added;
    }
    const bool end = added != 0 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    const std::string text = openssl_text();
    if (end) return {};
    return failure("ssl_chain", options.ssl_chain, text);
  }
};

}  // namespace

std::string openssl_text() {
  const unsigned long code = ERR_peek_error();
  std::string text;
  if (ERR_SYSTEM_ERROR(code)) {
    text = errno_text(ERR_GET_REASON(code));
  } else if (const char* reason = ERR_reason_error_string(code)) {
    text = reason;
  } else {
    text = "unknown reason";
  }
  ERR_clear_error();
  return text;
}

Result<std::unique_ptr<asio::ssl::context>> make_tls_context(const HttpOptions& options) {
  if (options.ssl_crt.empty() && options.ssl_key.empty()) return std::unique_ptr<asio::ssl::context>();
  const Files files{options};
  if (options.ssl_crt.empty()) return files.failure("ssl_crt", "(none)", "TLS requires ssl_crt and ssl_key");
  if (options.ssl_key.empty()) return files.failure("ssl_key", "(none)", "TLS requires ssl_crt and ssl_key");
  ERR_clear_error();
  auto made = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX* const context = made->native_handle();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context,
                   // With SSL_MODE_RELEASE_BUFFERS, OpenSSL frees the buffers of idle connections.
                   SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  for (const auto load : {&Files::load_certificate, &Files::load_key, &Files::load_chain}) {
    if (auto loaded = (files.*load)(*context); !loaded) return std::move(loaded).error();
  }
  if (auto asked = ask_for_client_certificates(*context, options); !asked) return std::move(asked).error();
  return made;
}

}  // namespace rest_fcgi::gateway
