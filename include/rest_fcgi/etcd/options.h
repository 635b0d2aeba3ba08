// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::etcd {

struct Options {
  /// The members of a cluster, as `http://HOST:PORT` or `https://HOST:PORT`.
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};

  std::string username{};  ///< `username` is the cluster's user. Empty if the cluster needs no login.
  std::shared_ptr<const Secret> password{};  ///< `password` is null exactly if `username` is empty.

  /// The path of the CA certificates. Empty for the system's CAs.
  std::string ca{};
  std::string client_cert{};
  std::string client_key{};

  std::chrono::milliseconds connect_timeout{500};
  /// The time limit of one request to one member. The default is longer than an election of a leader takes.
  std::chrono::milliseconds try_timeout{2000};
};

}  // namespace rest_fcgi::etcd
