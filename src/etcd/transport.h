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

#include "etcd/curl.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/etcd/options.h"

namespace rest_fcgi::etcd {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl().easy_cleanup(handle); }
};

/// An easy handle of libcurl's, with the connections that it keeps. For one thread at a time.
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

/// How much of what a server says stands in a message of ours, in bytes.
inline constexpr std::size_t kMostOfText = 200;

/// One request of HTTP/1.1. Plain value; borrows what it views until the exchange is over.
struct HttpRequest {
  enum class Method { get, post, put };

  Method method = Method::post;
  std::string url;          ///< `http(s)://HOST:PORT/PATH`, escaped
  std::string_view body{};  ///< never copied here, so whoever owns a password in it can wipe it
  std::string_view content_type = "application/json";
  SecretView authorization{};  ///< value of the header of that name; empty: none
};

struct HttpReply {
  long status = 0;
  std::string body;
};

class HttpStream;
class Transfer;

/// Exchanges with any server, on connections that are kept. Knows TLS and time, but nothing of etcd.
/// Redirects are not followed, and proxies of the environment not asked. Thread-safe; an exchange blocks its
/// own thread only.
///
/// Errors of an exchange: unavailable (nothing of the request was sent), timeout (it was sent, at least in
/// part, and what became of it is not known), configuration (a certificate or a URL that libcurl does not
/// take), internal (a reply above `kMaxReply`). Messages name the server, and hold nothing of the request.
class Transport {
 public:
  static constexpr std::size_t kMaxReply = 64U << 20;

  /// Opens no connection. Errors: configuration, for a file of `options` that cannot be read, or one of
  /// certificate and key without the other; where libcurl cannot be loaded.
  [[nodiscard]] static Result<std::unique_ptr<Transport>> make(Options options);

  /// One try; takes no longer than `options.try_timeout`, and not beyond `deadline`.
  [[nodiscard]] Result<HttpReply> exchange(const HttpRequest& request, Deadline deadline);

  /// Starts a request whose reply need not end, on a connection and with a copy of the body of its own. The
  /// stream must not outlive `this`.
  [[nodiscard]] std::unique_ptr<HttpStream> open(const HttpRequest& request);

 private:
  explicit Transport(Options options) : options_(std::move(options)) {}
  [[nodiscard]] CurlEasy take();
  void give_back(CurlEasy handle);
  [[nodiscard]] Result<HttpReply> exchange_on(CURL* handle, const HttpRequest& request,
                                              std::chrono::milliseconds most) const;

  const Options options_;
  std::mutex mutex_;
  std::vector<CurlEasy> idle_;  // guarded by mutex_
};

/// A reply that is read as it comes, for as long as it does. Bytes are taken from the connection only while
/// somebody reads. Not synchronized; ends the connection when it goes.
class HttpStream {
 public:
  /// `options` have to outlive it. Throws std::bad_alloc.
  HttpStream(const Options& options, const HttpRequest& request);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  /// What came since the last call, or comes first until `deadline`; empty where nothing does. Errors as of
  /// `Transport::exchange`, also where the reply ended: timeout, since the server should have gone on.
  [[nodiscard]] Result<std::string> read(Deadline deadline);

  /// HTTP's status; 0 until it is known, which it is once `read` gave bytes.
  [[nodiscard]] long status() const;

 private:
  struct MultiDeleter {
    void operator()(CURLM* multi) const noexcept { curl().multi_cleanup(multi); }
  };

  /// Lets libcurl send and receive what it can. Errors: the exchange is over.
  [[nodiscard]] Result<void> advance();

  const std::string url_;
  WipedBytes body_;
  std::string came_;
  CurlEasy easy_;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  std::unique_ptr<Transfer> transfer_;
  std::optional<Error> ended_;  // told once all that came before is read
};

}  // namespace rest_fcgi::etcd
