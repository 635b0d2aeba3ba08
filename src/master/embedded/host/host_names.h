// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "master/embedded/host/ip_address.h"

namespace rest_fcgi::embedded {

/// The host's name as its minion and its master are called after it.
[[nodiscard]] std::string host_name();

/// A host's names and addresses as far as this host itself knows them: no name server is ever asked, since
/// that may take long.
struct HostNames {
  std::string fqdn;
  std::vector<IpAddress> addresses;  ///< of `fqdn`, sorted, each once
};

/// What `/etc/hosts`, whose text is `hosts`, says of `hostname`. The first name on its line is the fully
/// qualified one; without such a line it is the hostname itself.
[[nodiscard]] HostNames names_in(std::string_view hosts, std::string_view hostname);

/// Of this host, now.
[[nodiscard]] HostNames host_names();

}  // namespace rest_fcgi::embedded
