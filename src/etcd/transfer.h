// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "etcd/transport.h"

namespace rest_fcgi::etcd {

/// One exchange on an easy handle: sets it up, feeds it the request's body, and takes the reply's. The
/// handle, `options` and what `request` borrows have to outlive it; when it goes, the handle keeps its
/// connections and forgets all else. Not synchronized.
class Transfer {
 public:
  /// Takes some of the reply's body. False: that is enough, the transfer breaks off.
  using Sink = std::function<bool(std::string_view)>;

  Transfer(CURL* handle, const Options& options, const HttpRequest& request, Sink sink);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// What became of it, as `Transport` tells it. REQUIRES: code is not CURLE_OK.
  [[nodiscard]] Error error(CURLcode code) const;

  /// The first option that libcurl did not take; CURLE_OK: it took all.
  [[nodiscard]] CURLcode prepared() const noexcept { return prepared_; }

 private:
  static std::size_t on_read(char* to, std::size_t size, std::size_t count, void* self) noexcept;
  static std::size_t on_write(const char* data, std::size_t size, std::size_t count, void* self) noexcept;

  template <class T>
  void set(CURLoption option, T value) {
    const CURLcode code = curl_easy_setopt(handle_, option, value);
    if (prepared_ == CURLE_OK) prepared_ = code;
  }
  void set_limits();
  void set_tls(const Options& options);
  void set_method(const HttpRequest& request);
  void set_headers(const HttpRequest& request);
  void add_header(std::string_view name, std::string_view value);

  CURL* const handle_;
  const std::string server_;
  std::string_view body_;
  const Sink sink_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> message_{};
  CURLcode prepared_ = CURLE_OK;
  bool refused_ = false;
};

}  // namespace rest_fcgi::etcd
