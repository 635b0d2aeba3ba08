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

/// The default is much longer than a successful call takes, even under a sanitizer.
inline Deadline in(std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return std::chrono::steady_clock::now() + time;
}

inline Options options_of(const test::EtcdCluster& cluster) {
  return {.endpoints = cluster.urls()};
}

/// The timeouts are longer than the defaults, unless the test sets them.
inline std::unique_ptr<Client> client_of(Options options) {
  const Options usual;
  if (options.connect_timeout == usual.connect_timeout) options.connect_timeout = std::chrono::seconds(5);
  if (options.try_timeout == usual.try_timeout) options.try_timeout = std::chrono::seconds(10);
  return *Client::make(std::move(options));
}

/// The user of a `test::EtcdCluster` may write the default key.
inline Result<void> put(Client& client, std::string key = "/salt/k",
                        std::chrono::milliseconds time = std::chrono::seconds(60)) {
  return client.put({.key = std::move(key), .value = "v"}, in(time));
}

inline std::vector<KeyValue> pairs_below(Client& client, const std::string& prefix) {
  const auto reply = *client.range({.key = prefix, .range_end = prefix_end(prefix)}, in());
  return reply.kvs;
}

template <class Value>
ErrorKind kind_of(const Result<Value>& result) {
  REQUIRE_FALSE(result);
  return result.error().kind;
}

template <class Value>
bool fails_with(const Result<Value>& result, ErrorKind kind, std::string_view text) {
  return !result && result.error().kind == kind && result.error().message.find(text) != std::string::npos;
}

}  // namespace rest_fcgi::etcd
