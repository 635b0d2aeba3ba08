// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "netapi/exchange.h"

namespace rest_fcgi::netapi {

/// Puts an application together. Errors: configuration, for addresses and origins that are none, and
/// for a path of the configuration where another route is.
[[nodiscard]] Result<http::Application> make_rest(const Dialect& dialect, RestCherrypyOptions options,
                                                  bool open_to_all, std::vector<Route> routes,
                                                  std::shared_ptr<const client::NetapiClient> client,
                                                  std::shared_ptr<Streams> streams, const Clock& clock);

}  // namespace rest_fcgi::netapi
