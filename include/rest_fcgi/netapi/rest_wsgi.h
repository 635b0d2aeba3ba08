// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/netapi/options.h"

namespace rest_fcgi::netapi {

/// Salt's `rest_wsgi`: a POST of lowstate to `/`, answered with `{"return": [...]}`. Every reply is JSON.
/// All chunks are checked before the first one runs; when one fails while running, what those before it returned is
/// in the reply as `completed`. Writes one audit line a chunk.
[[nodiscard]] http::Application make_rest_wsgi(const Options& options,
                                               std::shared_ptr<const client::NetapiClient> client,
                                               const Clock& clock);

}  // namespace rest_fcgi::netapi
