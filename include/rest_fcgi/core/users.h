// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

/// Users and groups of this host, from the sources in nsswitch.conf. Thread-safe.
namespace rest_fcgi {

/// Returns the name of a user or group; absent if it has none.
[[nodiscard]] std::optional<std::string> user_name(uid_t uid);
[[nodiscard]] std::optional<std::string> group_name(gid_t gid);

/// Returns the id of a group; absent if there is none.
[[nodiscard]] std::optional<gid_t> group_id(const std::string& name);

/// A user of this host.
struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
  std::string shell;
};

/// Returns the user; absent if there is none.
[[nodiscard]] std::optional<Account> account_of(const std::string& user);

/// Returns all groups of a user, including the primary one. Only the primary one if the system fails or names
/// more than 65536.
[[nodiscard]] std::vector<gid_t> groups_of(const Account& account);

/// Returns the sorted names of the user's groups; empty if there is no such user.
[[nodiscard]] std::vector<std::string> group_names_of(const std::string& user);

}  // namespace rest_fcgi
