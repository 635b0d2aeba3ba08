// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/netapi/options.h"

namespace rest_fcgi::netapi {

/// Salt's `rest_wsgi`: a POST of lowstate to `/`, answered with `{"return": [...]}`. Every reply is JSON.
/// All chunks are checked before the first one runs; when one fails while running, what those before it
/// returned is in the reply as `completed`: a list of objects with the chunk's `return`, and `jid` where
/// there was a job; and what the failed chunk itself had given by then is one such object, `partial`. Writes
/// one audit line a chunk.
///
/// The path is PATH_INFO where it is sent and not empty, else REQUEST_URI up to its query, else `/`: nginx's
/// own fastcgi_params know no PATH_INFO. Who mounts the application below another path than `/` sets
/// PATH_INFO.
[[nodiscard]] http::Application make_rest_wsgi(const Options& options,
                                               std::shared_ptr<const client::NetapiClient> client,
                                               const Clock& clock);

}  // namespace rest_fcgi::netapi
