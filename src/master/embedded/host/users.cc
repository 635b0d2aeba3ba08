// SPDX-License-Identifier: MIT
#include "master/embedded/host/users.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace rest_fcgi::embedded {
namespace {

constexpr std::size_t kLargestEntry = 1 << 20;  // groups list their members

/// Calls `ask(entry, buffer, size, result)`, one of the reentrant look-ups, with a buffer that is large
/// enough, and gives what `take` makes of the entry.
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

Identity identity_of(const Account& account) {
  Identity identity{account.uid, account.gid, {}};
  int count = 64;
  do {
    identity.groups.resize(static_cast<std::size_t>(count));
  } while (::getgrouplist(account.name.c_str(), account.gid, identity.groups.data(), &count) < 0 &&
           static_cast<std::size_t>(count) > identity.groups.size());
  identity.groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  return identity;
}

}  // namespace rest_fcgi::embedded
