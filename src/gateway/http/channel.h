// SPDX-License-Identifier: MIT
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// Returns what OpenSSL says about the first failure on the calling thread, or the system's text for a file
/// that cannot be read. Forgets the failures of this thread.
[[nodiscard]] std::string openssl_text();

/// Certificate, key and the rules of TLS for one port. Immutable once made; used by connections on many
/// threads.
class TlsContext {
 public:
  /// Reads the files of `options`. Errors: configuration, naming the option, the file and what is wrong with
  /// it. None is made, and nullptr is the result, where `ssl_crt` and `ssl_key` are empty.
  static Result<std::unique_ptr<TlsContext>> make(const HttpOptions& options);

  explicit TlsContext(SSL_CTX* context) : context_(context) {}
  [[nodiscard]] SSL_CTX* get() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

/// How far a step on a connection came.
struct Progress {
  enum class Outcome {
    moved,        ///< so many bytes
    wants_read,   ///< nothing, and the socket has to be readable first
    wants_write,  ///< the same for writing
    ended,        ///< the peer is gone, or broke the rules of TLS
  };
  Outcome outcome = Outcome::ended;
  std::size_t bytes = 0;
};

/// The bytes of one connection, through TLS or as they are. Borrows the socket. No call waits where the
/// socket does not block; where it does (FastCGI's sockets, without TLS), `read` and `write` wait as long as
/// it lets them. After `ended` without TLS, errno says why. Used by one thread at a time.
class Channel {
 public:
  /// Without TLS where `tls` is nullptr. May throw std::bad_alloc.
  Channel(int socket, const TlsContext* tls);

  [[nodiscard]] bool has_tls() const noexcept { return tls_ != nullptr; }

  /// Returns the state of TLS; nullptr without TLS.
  [[nodiscard]] const SSL* tls() const noexcept { return tls_.get(); }

  /// Goes on with the beginning of TLS; moved: it is done. REQUIRES: has_tls().
  Progress shake_hands() noexcept;

  /// Did the beginning of TLS fail since the peer speaks HTTP? The channel is then one without TLS.
  [[nodiscard]] bool turned_plain() const noexcept { return turned_plain_; }

  Progress read(std::span<char> buffer) noexcept;

  /// Did bytes come that the next `read` gives without one from the socket?
  [[nodiscard]] bool holds_bytes() const noexcept { return tls_ && SSL_has_pending(tls_.get()) == 1; }

  Progress write(std::string_view bytes) noexcept;

  /// Pieces, one behind the other; not always all of them, where there is TLS. What `wants_write` comes with
  /// has to be what is written next. REQUIRES: no more than 1024, and not nothing.
  Progress write(std::span<const iovec> pieces) noexcept;

  /// Tells the peer that nothing more comes. What it still sends is read without TLS from then on, and has no
  /// meaning.
  void finish() noexcept;

 private:
  struct Free {
    void operator()(SSL* tls) const noexcept { SSL_free(tls); }
  };
  Progress tls_progress(int result) noexcept;
  Progress write_together(std::span<const iovec> pieces) noexcept;

  int socket_;
  std::unique_ptr<SSL, Free> tls_;
  bool turned_plain_ = false;
};

}  // namespace rest_fcgi::gateway
