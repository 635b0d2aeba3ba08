// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/etcd/keys_v2.h"
#include "rest_fcgi/returner/returners.h"

namespace rest_fcgi::returner {

std::optional<std::string> missing_etcd_api(const EtcdOptions& options, SteadyTime deadline) {
  if (!options.is_chosen) return std::nullopt;
  const auto keys = etcd::KeysV2::make(options.writing);
  if (!keys) return keys.error().message;
  if (!options.require_v2) return std::nullopt;
  const auto root = (*keys)->get("/", false, deadline);
  if (root || root.error().kind != ErrorKind::configuration) return std::nullopt;
  return format(
      "etcd.require_v2: true, which is the default, and {}; no job can be kept there: say "
      "etcd.require_v2: false to use API v3",
      root.error().message);
}

}  // namespace rest_fcgi::returner
