// SPDX-License-Identifier: MIT
#include "master/embedded/events/peers.h"

#include <unistd.h>

#include <cstdint>
#include <random>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

Result<std::unique_ptr<Peers>> Peers::open(const std::string& folder, std::shared_ptr<master::EventLog> log) {
  Result<UniqueFd> opened = open_private_folder(folder);
  if (!opened) return std::move(opened).error();
  std::random_device dice;
  const std::string owner =
      format("{}-{:08x}{:08x}", ::getpid(), std::uint32_t{dice()}, std::uint32_t{dice()});
  return std::unique_ptr<Peers>(new Peers(*std::move(opened), owner, std::move(log)));
}

}  // namespace rest_fcgi::embedded
