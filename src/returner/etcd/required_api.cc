// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/client.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kApiV3Remedy =
    "use an etcd of 3.3 or later, with its gateway (--enable-grpc-gateway)";

}  // namespace

std::optional<std::string> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline) {
  if (!options.is_chosen) return std::nullopt;
  const auto client = etcd::Client::make(options.writing);
  if (!client) return client.error().message;
  if (!options.require_v2) {
    const auto missing = etcd::missing_api_v3(options.writing, deadline);
    if (!missing) return std::nullopt;
    return format(
        "etcd.require_v2: false, and {}; no job can be kept there: {}, or say etcd.require_v2: true to use "
        "API v2",
        *missing, kApiV3Remedy);
  }
  const auto root = (*client)->get_v2("/", false, deadline);
  if (root || root.error().kind != ErrorKind::configuration) return std::nullopt;
  return format(
      "etcd.require_v2: true, which is the default, and {}; no job can be kept there: say "
      "etcd.require_v2: false to use API v3",
      root.error().message);
}

std::optional<std::string> missing_etcd_api_of_tokens(const etcd::Options& options, SteadyTime deadline) {
  const auto missing = etcd::missing_api_v3(options, deadline);
  if (!missing) return std::nullopt;
  return format("eauth_tokens: etcd, and {}; no login makes a token: {}, or say eauth_tokens: localfs",
                *missing, kApiV3Remedy);
}

}  // namespace rest_fcgi::returner
