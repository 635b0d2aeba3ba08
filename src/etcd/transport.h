// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

/// The most bytes of a server's text that an error message quotes.
inline constexpr std::size_t kMostQuoted = 200;

/// One HTTP/1.1 request. The viewed texts must stay valid until the exchange is over.
struct HttpRequest {
  enum class Method { get, post, put };

  Method method = Method::post;
  std::string url;          ///< `http(s)://HOST:PORT/PATH`, escaped
  std::string_view body{};  ///< not copied, because it may hold a password
  std::string_view content_type = "application/json";
  /// The value of the header `Authorization`; if it is empty, the header is not sent.
  SecretView authorization{};
};

struct HttpReply {
  long status = 0;
  std::string body;
};

class HttpStream;
class Transfer;

/// An HTTP client that keeps connections open. It does not depend on etcd. It follows no redirects and uses
/// no proxies. Thread-safe. An exchange blocks the calling thread.
///
/// Errors of an exchange: unavailable (nothing of the request was sent), timeout (the request was sent, at
/// least in part, and may have been executed), configuration (libcurl refuses a certificate or the URL),
/// internal (the reply is larger than `kMaxReply`). Messages name the server and contain nothing of the
/// request.
class Transport {
 public:
  static constexpr std::size_t kMaxReply = 64U << 20;

  /// Opens no connection. Errors: configuration, for a file of `options` that cannot be read, and for a
  /// certificate without a key or a key without a certificate.
  [[nodiscard]] static Result<std::unique_ptr<Transport>> make(Options options);

  /// Makes one attempt, which ends after `options.try_timeout` or at the deadline.
  [[nodiscard]] Result<HttpReply> exchange(const HttpRequest& request, Deadline deadline);

  /// Starts a request on a connection of its own. Copies the body. The stream must not outlive the transport.
  [[nodiscard]] std::unique_ptr<HttpStream> open(const HttpRequest& request);

 private:
  explicit Transport(Options options) : options_(std::move(options)) {}

  const Options options_;
  std::mutex mutex_;
  std::vector<CurlEasy> idle_;  // guarded by mutex_
};

/// A reply that the caller reads while it arrives. Data is received only inside calls of `read`. Not
/// synchronized.
class HttpStream {
 public:
  /// `options` must outlive the stream.
  HttpStream(const Options& options, const HttpRequest& request);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  /// Waits for bytes until the deadline. Returns all bytes that have arrived. Errors: those of
  /// `Transport::exchange`; timeout at the end of the reply.
  [[nodiscard]] Result<std::string> read(Deadline deadline);

  /// Returns the HTTP status; 0 before the first bytes.
  [[nodiscard]] long status() const;

 private:
  struct MultiDeleter {
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
  };

  /// Sends and receives as much as is possible without blocking. An error means that the exchange is over.
  [[nodiscard]] Result<void> advance();

  const std::string url_;
  WipedBytes body_;
  std::string received_;
  CurlEasy easy_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::unique_ptr<Transfer> transfer_;
  std::optional<Error> ended_;  // the error that `read` returns after all received bytes
};

}  // namespace rest_fcgi::etcd
