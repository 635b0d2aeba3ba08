// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

/// The users and groups of this host, as its databases know them. May ask whatever nsswitch.conf names.
/// Thread-safe.
namespace rest_fcgi {

/// The name of a user or group of this host; absent where it has none.
[[nodiscard]] std::optional<std::string> user_name(uid_t uid);
[[nodiscard]] std::optional<std::string> group_name(gid_t gid);

/// The group of that name; absent where there is none.
[[nodiscard]] std::optional<gid_t> group_id(const std::string& name);

/// A user of this host, as a login knows them.
struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
};

/// Absent where there is no such user.
[[nodiscard]] std::optional<Account> account_of(const std::string& user);

/// The groups that the system has a user in, their own among them; that one alone where the system cannot
/// say which, or says more than 65536.
[[nodiscard]] std::vector<gid_t> groups_of(const Account& account);

/// Their names, sorted; none where there is no such user.
[[nodiscard]] std::vector<std::string> group_names_of(const std::string& user);

}  // namespace rest_fcgi
