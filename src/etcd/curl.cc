// SPDX-License-Identifier: MIT
#include "etcd/curl.h"

#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::etcd {
namespace {

/// Its name says for which ABI it is: that of the headers which this was compiled with.
constexpr const char* kLibrary = "libcurl.so.4";

std::atomic<const Curl*> the_curl = nullptr;

}  // namespace

Result<std::unique_ptr<const Curl>> Curl::load(const char* name) {
  auto made = std::make_unique<const Curl>(Curl{Library(name)});
  if (const std::string& problem = made->library.problem(); !problem.empty()) {
    return Error{
        ErrorKind::configuration,
        format("etcd is spoken to with libcurl (Debian's package libcurl4), which cannot be loaded: {}",
               problem)};
  }
  // Where that fails there are no handles, which is told then.
  static_cast<void>(made->global_init(CURL_GLOBAL_DEFAULT));
  return made;
}

Result<void> load_curl() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (the_curl != nullptr) return {};
  auto made = Curl::load(kLibrary);
  if (!made) return std::move(made).error();
  the_curl = made->release();  // for as long as the process lives
  return {};
}

const Curl& curl() noexcept {
  return *the_curl.load(std::memory_order_acquire);
}

}  // namespace rest_fcgi::etcd
