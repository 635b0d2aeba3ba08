// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::etcd {

/// How to reach a cluster, and as which user. Plain value; copies share the password.
struct Options {
  /// Members of one cluster, as `http://HOST:PORT` or `https://HOST:PORT`, with IPv6 addresses in brackets.
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};

  std::string username{};                    ///< empty: no login
  std::shared_ptr<const Secret> password{};  ///< needed with a username, and only then

  std::string ca{};           ///< file of the authorities for the server's certificate; empty: the system's
  std::string client_cert{};  ///< file; needs `client_key`
  std::string client_key{};   ///< file

  std::chrono::milliseconds connect_timeout{500};
  /// Of one attempt at one member. It is longer than an election, and much shorter than the 7 s after which a
  /// member without a leader answers.
  std::chrono::milliseconds try_timeout{2000};
};

}  // namespace rest_fcgi::etcd
