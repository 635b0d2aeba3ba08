// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/netapi/streams.h"

namespace rest_fcgi::netapi {

/// Salt's `rest_cherrypy`: `/`, `/login`, `/logout`, `/token`, `/run`, `/minions`, `/jobs`, `/keys`, `/hook`,
/// `/stats`, `/events`, `/ws` and files; bodies and replies in JSON or YAML, sessions by cookie or
/// X-Auth-Token. A session is a token of the master's. Nothing runs before form, type, credentials and
/// permissions of a request were looked at. Errors are `{"status": 404, "return": "..."}` by `Accept`.
/// Streams of events have their places in `streams`, which has to use the same client; a front end that
/// carries them sets the variable `rest_fcgi.streams` to `1`, and `rest_fcgi.websocket` where it carries
/// WebSockets. No client can send variables of such names.
///
/// The path is PATH_INFO below SCRIPT_NAME where PATH_INFO is sent and not empty (PEP 3333; percent-decoded
/// already); else that of REQUEST_URI, and nothing stands above it. Errors: configuration, for addresses,
/// networks and origins that are none, and for paths at which something else is. Files that the options name
/// and that cannot be opened are a warning in the log.
[[nodiscard]] Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                                           std::shared_ptr<const client::NetapiClient> client,
                                                           std::shared_ptr<Streams> streams,
                                                           const Clock& clock);

/// Salt's `rest_tornado`, also called saltnado: the same parts with its URLs, words and statuses. Errors: as
/// above.
[[nodiscard]] Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                                          std::shared_ptr<const client::NetapiClient> client,
                                                          std::shared_ptr<Streams> streams,
                                                          const Clock& clock);

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
