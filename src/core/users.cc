// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/users.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

namespace rest_fcgi {
namespace {

// The largest size in bytes of an entry in the user or group database.
constexpr std::size_t kLargestEntry = 1 << 20;
// The kernel's limit for the number of groups of a user.
constexpr int kMostGroups = 65536;

/// Calls a function such as getpwuid_r with a buffer that is large enough.
template <class Entry, class Ask, class Take>
auto look_up(Ask ask, Take take) -> std::optional<decltype(take(Entry{}))> {
  Entry entry{};
  Entry* found = nullptr;
  std::vector<char> buffer(4096);
  int error = ask(&entry, buffer.data(), buffer.size(), &found);
  while (error == ERANGE && buffer.size() < kLargestEntry) {
    buffer.resize(buffer.size() * 2);
    error = ask(&entry, buffer.data(), buffer.size(), &found);
  }
  if (error != 0 || found == nullptr) return std::nullopt;
  return take(entry);
}

}  // namespace

std::optional<std::string> user_name(uid_t uid) {
  return look_up<passwd>([uid](auto... rest) { return ::getpwuid_r(uid, rest...); },
                         [](const passwd& user) { return std::string(user.pw_name); });
}

std::optional<std::string> group_name(gid_t gid) {
  return look_up<group>([gid](auto... rest) { return ::getgrgid_r(gid, rest...); },
                        [](const group& found) { return std::string(found.gr_name); });
}

std::optional<gid_t> group_id(const std::string& name) {
  return look_up<group>([&name](auto... rest) { return ::getgrnam_r(name.c_str(), rest...); },
                        [](const group& found) { return found.gr_gid; });
}

std::optional<Account> account_of(const std::string& user) {
  return look_up<passwd>(
      [&user](auto... rest) { return ::getpwnam_r(user.c_str(), rest...); },
      [](const passwd& found) {
        return Account{found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir, found.pw_shell};
      });
}

std::vector<gid_t> groups_of(const Account& account) {
  std::vector<gid_t> ids(64);
  for (;;) {
    int count = static_cast<int>(ids.size());
    const bool fits = ::getgrouplist(account.name.c_str(), account.gid, ids.data(), &count) >= 0;
    const auto found = static_cast<std::size_t>(std::max(count, 0));
    // If `ids` is too small, getgrouplist(3) fails and `found` is the needed number of ids. If `ids` has
    // already this size, memory was short, and the ids are wrong.
    if (!fits && (found <= ids.size() || count > kMostGroups)) return {account.gid};
    ids.resize(found);
    if (fits) return ids;
  }
}

std::vector<std::string> group_names_of(const std::string& user) {
  std::vector<std::string> names;
  const std::optional<Account> account = account_of(user);
  if (!account) return names;
  for (const gid_t id : groups_of(*account)) {
    if (auto name = group_name(id)) names.push_back(*std::move(name));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace rest_fcgi
