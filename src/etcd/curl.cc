// SPDX-License-Identifier: MIT
#include "etcd/curl.h"

#include <new>

namespace rest_fcgi::etcd {

CurlEasy make_curl_easy() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  CurlEasy handle(started == CURLE_OK ? curl_easy_init() : nullptr);
  if (!handle) throw std::bad_alloc();
  return handle;
}

}  // namespace rest_fcgi::etcd
