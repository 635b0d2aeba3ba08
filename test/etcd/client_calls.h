// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "../support/etcd_server.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {

/// A deadline from now on. The default is far beyond what any good call takes, also under a sanitizer.
inline Deadline in(std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return std::chrono::steady_clock::now() + time;
}

inline Options options_of(const test::EtcdCluster& cluster) {
  return {.endpoints = cluster.urls()};
}

/// A client that waits longer than by default, unless its test says how long: a busy machine is no failure.
/// REQUIRES: the options are good.
inline std::unique_ptr<Client> client_of(Options options) {
  const Options usual;
  if (options.connect_timeout == usual.connect_timeout) options.connect_timeout = std::chrono::seconds(5);
  if (options.try_timeout == usual.try_timeout) options.try_timeout = std::chrono::seconds(10);
  return *Client::make(std::move(options));
}

/// Writes `key`; the default is one that the user of a test::EtcdCluster may write.
inline Result<PutReply> put(Client& client, std::string key = "/salt/k",
                            std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return client.put({.key = std::move(key), .value = "v"}, in(time));
}

template <class Value>
ErrorKind kind_of(const Result<Value>& result) {
  REQUIRE_FALSE(result);
  return result.error().kind;
}

}  // namespace rest_fcgi::etcd
