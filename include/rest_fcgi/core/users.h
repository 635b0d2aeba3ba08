// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

/// Functions that look up users and groups of this host in the sources of nsswitch.conf. Thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group; absent if the id has no name.
[[nodiscard]] std::optional<std::string> user_name(uid_t uid);
[[nodiscard]] std::optional<std::string> group_name(gid_t gid);

/// Returns the id of a group; absent if there is no group with this name.
[[nodiscard]] std::optional<gid_t> group_id(const std::string& name);

/// A user of this host.
struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
};

/// Returns the user with this name; absent if there is no such user.
[[nodiscard]] std::optional<Account> account_of(const std::string& user);

/// Returns all groups of a user, including the primary group. Returns only the primary group if the lookup
/// fails or finds more than 65536 groups.
[[nodiscard]] std::vector<gid_t> groups_of(const Account& account);

/// Returns the sorted names of the user's groups; empty if there is no such user.
[[nodiscard]] std::vector<std::string> group_names_of(const std::string& user);

}  // namespace rest_fcgi
