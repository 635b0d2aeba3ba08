// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

inline constexpr std::size_t kMostQuoted = 200;

/// An HTTP/1.1 request. Borrows its texts until the whole reply has arrived.
struct HttpRequest {
  enum class Method { get, post, put };

  Method method = Method::post;
  std::string url;          ///< `url` is the escaped URL `http(s)://HOST:PORT/PATH`.
  std::string_view body{};  ///< `exchange` does not copy `body`, because it may hold a password.
  std::string_view content_type = "application/json";
  /// The header `Authorization`. Empty if the header is not sent.
  SecretView authorization{};
};

struct HttpReply {
  long status = 0;
  std::string body;
};

class HttpStream;
class Transfer;

/// An HTTP client that keeps connections open. Follows no redirects and uses no proxies. A Transport is
/// thread-safe, and `exchange` blocks.
///
/// Errors of an exchange: unavailable (the request was not sent), timeout (the request may have been
/// executed), configuration (libcurl refuses a certificate or the URL), internal (the reply is larger than
/// `kMaxReply`). Messages name the server and contain nothing of the request.
class Transport {
 public:
  static constexpr std::size_t kMaxReply = 64U << 20;

  /// Makes a transport without opening a connection. Errors: configuration, for an unreadable file, and for a
  /// certificate without a key or a key without a certificate.
  static Result<std::unique_ptr<Transport>> make(Options options);

  /// Sends a request once and waits for the reply until the deadline, but at most for
  /// `options.try_timeout`.
  Result<HttpReply> exchange(const HttpRequest& request, Deadline deadline);

  /// Starts a request on a new connection, and returns a stream from which the caller reads the reply. Copies
  /// the body of the request. The Transport must outlive the stream.
  [[nodiscard]] std::unique_ptr<HttpStream> open(const HttpRequest& request);

 private:
  explicit Transport(Options options) : options_(std::move(options)) {}

  const Options options_;
  Mutex mutex_;
  std::vector<CurlEasy> idle_ GUARDED_BY(mutex_);  // No call of `exchange` uses the handles in `idle_`.
};

/// An HTTP reply that the caller reads while it arrives. Only `read` receives data. An HttpStream is not
/// thread-safe.
class HttpStream {
 public:
  /// REQUIRES: `options` outlives the stream.
  HttpStream(const Options& options, const HttpRequest& request);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  /// Waits for bytes until the deadline. Returns all bytes that have arrived. Errors: those of
  /// `Transport::exchange`. At the end of the reply, the error is timeout.
  Result<std::string> read(Deadline deadline);

  /// Returns the HTTP status, or 0 before the first bytes.
  [[nodiscard]] long status() const;

 private:
  struct MultiDeleter {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  /// Sends and receives without blocking. Errors: those of `read`.
  Result<void> advance();

  const std::string url_;
  std::string body_;
  std::string received_;
  CurlEasy easy_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::unique_ptr<Transfer> transfer_;
  std::optional<Error> ended_;
};

}  // namespace rest_fcgi::etcd
