// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {

/// A deadline from now on. The default is far beyond what any good call takes, also under a sanitizer.
inline Deadline in(std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return std::chrono::steady_clock::now() + time;
}

/// REQUIRES: the options are good.
inline std::unique_ptr<Client> client_of(Options options) {
  return *Client::make(std::move(options));
}

}  // namespace rest_fcgi::etcd
