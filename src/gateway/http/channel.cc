// SPDX-License-Identifier: MIT
#include "gateway/http/channel.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "gateway/http/client_certificates.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::gateway {
namespace {

/// Errors are of kind configuration and begin with the port's name and the option's.
struct Files {
  const HttpOptions& options;

  [[nodiscard]] Error failure(std::string_view option, const std::string& path, std::string why) const {
    if (::access(path.c_str(), R_OK) != 0 && errno == EACCES) why = why_unreadable(path);
    return {ErrorKind::configuration, format("{}: {}: {}: {}", options.name, option, path, why), {}};
  }

  [[nodiscard]] Result<void> load_certificate(SSL_CTX& context) const {
    if (SSL_CTX_use_certificate_chain_file(&context, options.ssl_crt.c_str()) == 1) return {};
    return failure("ssl_crt", options.ssl_crt, openssl_text());
  }

  [[nodiscard]] Result<void> load_key(SSL_CTX& context) const {
    struct stat status {};
    if (::stat(options.ssl_key.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0) {
      log::warning(
          format("{}: ssl_key: {}: every user of this host can read it", options.name, options.ssl_key));
    }
    // A terminal would be asked for the passphrase.
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

  [[nodiscard]] Result<void> load_chain(SSL_CTX& context) const {
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

int to_int(std::size_t size) noexcept {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

std::string openssl_text() {
  const unsigned long code = ERR_peek_error();
  std::string text;
  if (ERR_SYSTEM_ERROR(code)) {
    text = errno_text(ERR_GET_REASON(code));
  } else if (const char* reason = ERR_reason_error_string(code)) {
    text = reason;
  } else {
    text = "no reason is known";
  }
  ERR_clear_error();
  return text;
}

Result<std::unique_ptr<TlsContext>> TlsContext::make(const HttpOptions& options) {
  if (options.ssl_crt.empty() && options.ssl_key.empty()) return std::unique_ptr<TlsContext>();
  const Files files{options};
  if (options.ssl_crt.empty()) return files.failure("ssl_crt", "(none)", "TLS takes it and ssl_key");
  if (options.ssl_key.empty()) return files.failure("ssl_key", "(none)", "TLS takes it and ssl_crt");
  ERR_clear_error();
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) throw std::bad_alloc();
  auto made = std::make_unique<TlsContext>(context);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_CLEANSE_PLAINTEXT | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Idle connections hold no buffers, and what does not go out at once is sent later from where it is then.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);  // clients keep tickets
  for (const auto load : {&Files::load_certificate, &Files::load_key, &Files::load_chain}) {
    if (auto loaded = (files.*load)(*context); !loaded) return std::move(loaded).error();
  }
  if (auto asked = ask_for_client_certificates(*context, options); !asked) return std::move(asked).error();
  return made;
}

Channel::Channel(int socket, const TlsContext* tls) : socket_(socket) {
  if (tls == nullptr) return;
  tls_.reset(SSL_new(tls->get()));
  if (!tls_ || SSL_set_fd(tls_.get(), socket) != 1) throw std::bad_alloc();
}

Progress Channel::tls_progress(int result) noexcept {
  using Outcome = Progress::Outcome;
  if (result > 0) return {Outcome::moved, static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {Outcome::wants_read};
    case SSL_ERROR_WANT_WRITE:
      return {Outcome::wants_write};
    default:
      return {Outcome::ended};
  }
}

Progress Channel::shake_hands() noexcept {
  ERR_clear_error();
  const Progress progress = tls_progress(SSL_accept(tls_.get()));
  if (progress.outcome == Progress::Outcome::ended &&
      ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
    turned_plain_ = true;
    tls_.reset();
  }
  return progress;
}

Progress Channel::read(std::span<char> buffer) noexcept {
  using Outcome = Progress::Outcome;
  if (tls_) {
    ERR_clear_error();
    return tls_progress(SSL_read(tls_.get(), buffer.data(), to_int(buffer.size())));
  }
  for (;;) {
    const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (got > 0) return {Outcome::moved, static_cast<std::size_t>(got)};
    if (got < 0 && errno == EINTR) continue;
    return {got < 0 && errno == EAGAIN ? Outcome::wants_read : Outcome::ended};
  }
}

Progress Channel::write(std::string_view bytes) noexcept {
  if (tls_) {
    ERR_clear_error();
    return tls_progress(SSL_write(tls_.get(), bytes.data(), to_int(bytes.size())));
  }
  const iovec piece = {const_cast<char*>(bytes.data()), bytes.size()};
  return write(std::span(&piece, 1));
}

/// One record of TLS. Not inlined: who writes without TLS keeps no stack for it.
[[gnu::noinline]] Progress Channel::write_together(std::span<const iovec> pieces) noexcept {
  std::array<char, SSL3_RT_MAX_PLAIN_LENGTH> together;
  std::size_t size = 0;
  for (const iovec& piece : pieces) {
    const std::size_t part = std::min(piece.iov_len, together.size() - size);
    std::copy_n(static_cast<const char*>(piece.iov_base), part, together.data() + size);
    size += part;
    if (size == together.size()) break;
  }
  return write(std::string_view(together.data(), size));
}

Progress Channel::write(std::span<const iovec> pieces) noexcept {
  using Outcome = Progress::Outcome;
  if (tls_) return write_together(pieces);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return {Outcome::moved, static_cast<std::size_t>(sent)};
    if (errno == EINTR) continue;
    return {errno == EAGAIN ? Outcome::wants_write : Outcome::ended};
  }
}

void Channel::finish() noexcept {
  ERR_clear_error();
  if (tls_ && SSL_is_init_finished(tls_.get())) SSL_shutdown(tls_.get());
  tls_.reset();
  ::shutdown(socket_, SHUT_WR);
}

}  // namespace rest_fcgi::gateway
