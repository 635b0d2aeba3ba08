// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::etcd {

/// How to reach a cluster, and as whom. Plain value; the password is shared and wiped when its last owner
/// goes.
struct Options {
  /// Members of one cluster, as `http://HOST:PORT` or `https://HOST:PORT`; an IPv6 address in brackets. The
  /// first that answers is kept until it fails.
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};

  std::string username{};                    ///< empty: no login
  std::shared_ptr<const Secret> password{};  ///< goes with a username

  std::string ca{};           ///< file with the certificates that sign the server's; empty: the system's
  std::string client_cert{};  ///< file; goes with `client_key`
  std::string client_key{};   ///< file

  std::chrono::milliseconds connect_timeout{500};
  /// Of one try at one member. More than one election takes, and much less than the 7 s after which a
  /// member without a leader answers.
  std::chrono::milliseconds try_timeout{2000};
};

}  // namespace rest_fcgi::etcd
