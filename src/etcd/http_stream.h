// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "etcd/transfer.h"

namespace rest_fcgi::etcd {

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
    void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
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
