// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::etcd {

/// Addresses of a cluster, and the user to log in with. Plain value; copies share the password.
struct Options {
  /// The members of one cluster, as `http://HOST:PORT` or `https://HOST:PORT`, with IPv6 addresses in
  /// brackets.
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};

  std::string username{};                    ///< user of the cluster; empty if no login is needed
  std::shared_ptr<const Secret> password{};  ///< the user's password; null exactly if `username` is empty

  /// The path of the CA certificates that sign the members' certificates. Empty means the system's CAs.
  std::string ca{};
  std::string client_cert{};  ///< path of the client's certificate; needs `client_key`
  std::string client_key{};   ///< path of the private key of `client_cert`

  std::chrono::milliseconds connect_timeout{500};
  /// The time limit of one attempt at one member. The default is longer than the election of a leader. It is
  /// much shorter than 7 s, the time after which a member without a leader answers.
  std::chrono::milliseconds try_timeout{2000};
};

}  // namespace rest_fcgi::etcd
