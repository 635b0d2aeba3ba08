// SPDX-License-Identifier: MIT
#include "master/embedded/host/file_systems.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// What holds no files that take space.
bool is_dummy(const Mount& mount) {
  constexpr std::array<std::string_view, 13> types = {
      "autofs", "proc",       "subfs", "debugfs", "devpts", "fusectl", "fuse.portal",
      "mqueue", "rpc_pipefs", "sysfs", "devfs",   "kernfs", "ignore"};
  return mount.device == "none" || std::find(types.begin(), types.end(), mount.type) != types.end();
}

std::optional<FileSystem> measured(const Mount& mount) {
  struct statvfs status {};
  if (::statvfs(mount.point.c_str(), &status) != 0 || status.f_blocks == 0) return std::nullopt;
  const auto kib = [&status](std::uint64_t blocks) { return (blocks * status.f_frsize + 1023) / 1024; };
  return FileSystem{
      mount,          kib(status.f_blocks), kib(status.f_blocks - status.f_bfree), kib(status.f_bavail),
      status.f_files, status.f_ffree};
}

}  // namespace

bool is_better(const Mount& other, const Mount& shown) {
  const bool has_path = other.device.find('/') != std::string::npos;
  const bool shown_has_path = shown.device.find('/') != std::string::npos;
  return (has_path && !shown_has_path) || other.point.size() < shown.point.size() ||
         (other.point == shown.point && other.device != shown.device);
}

std::vector<FileSystem> host_file_systems() {
  std::map<dev_t, Mount> shown;
  for (const Mount& mount : host_mounts()) {
    struct stat status {};
    if (is_dummy(mount) || ::stat(mount.point.c_str(), &status) != 0) continue;
    const auto [at, is_new] = shown.try_emplace(status.st_dev, mount);
    if (!is_new && is_better(mount, at->second)) at->second = mount;
  }
  std::vector<FileSystem> systems;
  for (const auto& [device, mount] : shown) {
    if (auto system = measured(mount)) systems.push_back(*std::move(system));
  }
  return systems;
}

std::string percent_of(std::uint64_t used, std::uint64_t available) {
  const std::uint64_t all = used + available;
  if (all == 0) return "-";
  return format("{}%", (used * 100 + all - 1) / all);
}

}  // namespace rest_fcgi::embedded
