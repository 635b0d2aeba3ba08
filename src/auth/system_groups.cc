// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/system_groups.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace rest_fcgi::auth {
namespace {

constexpr int kMaxGroups = 4096;
constexpr std::size_t kMaxBuffer = std::size_t{1} << 20;

/// Calls one of the lookups that end in `_r`, with room for all that it finds.
template <class Record, class Lookup>
bool look_up(Record& record, std::vector<char>& buffer, const Lookup& lookup) {
  Record* found = nullptr;
  buffer.resize(4096);
  int error = lookup(&record, buffer.data(), buffer.size(), &found);
  while (error == ERANGE && buffer.size() < kMaxBuffer) {
    buffer.resize(buffer.size() * 4);
    error = lookup(&record, buffer.data(), buffer.size(), &found);
  }
  return error == 0 && found != nullptr;
}

std::vector<gid_t> group_ids(const std::string& username, gid_t own) {
  int count = 64;
  std::vector<gid_t> ids(static_cast<std::size_t>(count));
  // getgrouplist(3) says how many groups there are where there is no room for them.
  while (::getgrouplist(username.c_str(), own, ids.data(), &count) < 0 && count <= kMaxGroups &&
         static_cast<std::size_t>(count) > ids.size()) {
    ids.resize(static_cast<std::size_t>(count));
  }
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(std::max(count, 0))));
  return ids;
}

}  // namespace

std::vector<std::string> system_groups(const std::string& username) {
  passwd user{};
  std::vector<char> buffer;
  const auto by_name = [&](passwd* record, char* data, std::size_t size, passwd** found) {
    return ::getpwnam_r(username.c_str(), record, data, size, found);
  };
  std::vector<std::string> names;
  if (!look_up(user, buffer, by_name)) return names;
  for (const gid_t id : group_ids(username, user.pw_gid)) {
    group entry{};
    const auto by_id = [id](group* record, char* data, std::size_t size, group** found) {
      return ::getgrgid_r(id, record, data, size, found);
    };
    if (look_up(entry, buffer, by_id)) names.emplace_back(entry.gr_name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace rest_fcgi::auth
