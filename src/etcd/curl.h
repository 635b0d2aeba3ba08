// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include <curl/curl.h>

#include "rest_fcgi/core/library.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::etcd {

/// The functions of libcurl that are called here, without `curl_` before their names. libcurl and the thirty
/// libraries that it brings are large, and few need them: who has to do with no etcd does not load them.
struct Curl {
  Library library;
  decltype(&::curl_global_init) global_init = library["curl_global_init"];
  decltype(&::curl_easy_init) easy_init = library["curl_easy_init"];
  decltype(&::curl_easy_setopt) easy_setopt = library["curl_easy_setopt"];
  decltype(&::curl_easy_perform) easy_perform = library["curl_easy_perform"];
  decltype(&::curl_easy_getinfo) easy_getinfo = library["curl_easy_getinfo"];
  decltype(&::curl_easy_reset) easy_reset = library["curl_easy_reset"];
  decltype(&::curl_easy_cleanup) easy_cleanup = library["curl_easy_cleanup"];
  decltype(&::curl_easy_strerror) easy_strerror = library["curl_easy_strerror"];
  decltype(&::curl_slist_append) slist_append = library["curl_slist_append"];
  decltype(&::curl_slist_free_all) slist_free_all = library["curl_slist_free_all"];
  decltype(&::curl_multi_init) multi_init = library["curl_multi_init"];
  decltype(&::curl_multi_add_handle) multi_add_handle = library["curl_multi_add_handle"];
  decltype(&::curl_multi_remove_handle) multi_remove_handle = library["curl_multi_remove_handle"];
  decltype(&::curl_multi_perform) multi_perform = library["curl_multi_perform"];
  decltype(&::curl_multi_poll) multi_poll = library["curl_multi_poll"];
  decltype(&::curl_multi_info_read) multi_info_read = library["curl_multi_info_read"];
  decltype(&::curl_multi_cleanup) multi_cleanup = library["curl_multi_cleanup"];
  decltype(&::curl_multi_strerror) multi_strerror = library["curl_multi_strerror"];

  /// Loads `name` and starts it. Errors: configuration; the message names what is missing, and what for.
  [[nodiscard]] static Result<std::unique_ptr<const Curl>> load(const char* name);
};

/// Loads libcurl where that was not done yet. To be called when a client is made, not in the middle of a
/// request. Thread-safe. Errors: as of `Curl::load`; the next call tries again.
[[nodiscard]] Result<void> load_curl();

/// REQUIRES: load_curl() succeeded. Thread-safe.
[[nodiscard]] const Curl& curl() noexcept;

}  // namespace rest_fcgi::etcd
