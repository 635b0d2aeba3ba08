// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <curl/curl.h>

namespace rest_fcgi::etcd {

struct CurlDeleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};

/// An easy handle of libcurl's, with the connections that it keeps. For one thread at a time.
using CurlEasy = std::unique_ptr<CURL, CurlDeleter>;

/// A new one; libcurl itself is started before the first. Throws std::bad_alloc.
[[nodiscard]] CurlEasy make_curl_easy();

}  // namespace rest_fcgi::etcd
