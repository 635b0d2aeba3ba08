// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

/// Which parts of an event no listener gets to see, whatever the engine.
namespace rest_fcgi::master {

/// What stands in an event in place of a secret.
inline constexpr std::string_view kHidden = "[hidden]";

/// Does a name, of which only letters and digits count, end with a word for secrets, or its plural?
/// `db_password`, `X-Auth-Token`, `aws.secret_access_key`, `priv` do; `key`, `password_file`, `pub` do not.
[[nodiscard]] bool names_a_secret(std::string_view name);

/// How much of a text is shown: what follows a name for a secret, as in `password=x`, `"token": "x"` or
/// `--password x`, is not.
[[nodiscard]] std::size_t shown_bytes(std::string_view text);

}  // namespace rest_fcgi::master
