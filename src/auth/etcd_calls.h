// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::auth {

/// Returns the deadline of a call to etcd that begins now.
inline etcd::Deadline etcd_deadline() {
  constexpr std::chrono::seconds kMostWait{5};
  return std::chrono::steady_clock::now() + kMostWait;
}

/// A refusal of etcd says nothing about a token or request, so every error is unavailable.
inline Error etcd_failure(const Error& error) {
  return {ErrorKind::unavailable, format("etcd: {}", error.message)};
}

}  // namespace rest_fcgi::auth
