// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

/// Functions that look up users and groups of this host by nsswitch.conf(5). The functions are thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group. Returns std::nullopt if the id has no name.
[[nodiscard]] std::optional<std::string> user_name(uid_t uid);
[[nodiscard]] std::optional<std::string> group_name(gid_t gid);

/// Returns the id of a group. Returns std::nullopt if the group does not exist.
[[nodiscard]] std::optional<gid_t> group_id(const std::string& name);

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
};

/// Returns the account of a user. Returns std::nullopt if the user does not exist.
[[nodiscard]] std::optional<Account> account_of(const std::string& user);

/// Returns all groups of a user, including the primary group, or only this group if the lookup fails.
[[nodiscard]] std::vector<gid_t> groups_of(const Account& account);

/// Returns the sorted names of the user's groups. Returns no names if the user does not exist.
[[nodiscard]] std::vector<std::string> group_names_of(const std::string& user);

}  // namespace rest_fcgi
