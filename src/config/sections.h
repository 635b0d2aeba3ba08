// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "config/mistakes.h"
#include "config/reader.h"
#include "config/tree.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/master/embedded/options.h"

/// Parts of the master file into options. What is wrong goes to the reader's mistakes.
namespace rest_fcgi::config {

/// Salt's own keys, those that mean something here. What of Salt's rules is not enforced here goes to
/// `warnings`.
void read_salt_keys(Reader& top, Settings& settings);

/// Salt's `external_auth`: a map, or null where there is none.
[[nodiscard]] std::vector<auth::EauthOptions> read_external_auth(const Node* external_auth,
                                                                 Mistakes& mistakes);

/// Our section, `rest_fcgi:`.
void read_rest_fcgi(Reader& section, Settings& settings);

/// `rest_fcgi: embedded: minions:`, a list or a map; `path` is the key in messages.
[[nodiscard]] std::vector<embedded::MinionOptions> read_minions(const Node& minions, const std::string& path,
                                                                Mistakes& mistakes);

}  // namespace rest_fcgi::config
