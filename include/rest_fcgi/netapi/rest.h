// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"
#include "rest_fcgi/netapi/options.h"
#include "rest_fcgi/netapi/stream_registry.h"

namespace rest_fcgi::netapi {

/// Makes Salt's `rest_cherrypy`. It answers `/`, `/login`, `/logout`, `/token`, `/run`, `/minions`, `/jobs`,
/// `/keys`, `/hook`, `/stats`, `/events`, `/ws` and files. Bodies and replies are in JSON or YAML. The
/// session is a token of the master, in a cookie or in X-Auth-Token. The form, credentials and permissions of
/// a whole request are checked before any part of the request runs. An error reply is `{"status": 404,
/// "return": "..."}` in the media type that `Accept` asks for.
///
/// The application registers event streams in `streams`. REQUIRES: `streams` uses the same `client`. The
/// front end sets the variable `rest_fcgi.streams` to `1` if it can send event streams, and
/// `rest_fcgi.websocket` if it can send WebSockets. HTTP clients cannot set variables with such names.
///
/// Errors: configuration, for a malformed address, network or origin, and for two routes with the same path.
/// If a file of the options cannot be opened, only a warning is logged.
[[nodiscard]] Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                                           std::shared_ptr<const client::NetapiClient> client,
                                                           std::shared_ptr<StreamRegistry> streams,
                                                           const Clock& clock);

/// Makes Salt's `rest_tornado` (saltnado), which differs from `rest_cherrypy` in its URLs, texts and
/// statuses. Errors: those of `make_rest_cherrypy`.
[[nodiscard]] Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                                          std::shared_ptr<const client::NetapiClient> client,
                                                          std::shared_ptr<StreamRegistry> streams,
                                                          const Clock& clock);

/// Makes Salt's `rest_wsgi`. It answers a POST of lowstate to `/` with `{"return": [...]}` in JSON. All
/// chunks are checked before the first chunk runs. If a chunk fails while it runs, the reply has two more
/// members. `completed` is a list of the earlier chunks' results, objects with `return` and `jid`. `partial`
/// has the results of the failed chunk before its failure. Each chunk writes an audit line.
///
/// The path of a request is PATH_INFO if that variable is not empty, otherwise the path of REQUEST_URI.
[[nodiscard]] http::Application make_rest_wsgi(const Options& options,
                                               std::shared_ptr<const client::NetapiClient> client,
                                               const Clock& clock);

/// An application, and the path in front of its URLs.
struct Mount {
  std::string path;  ///< path such as `/api`; the path `/` is a prefix of every path
  http::Application application;
};

/// Returns an application that passes each request to one of `mounts`. If several paths are a prefix of the
/// request's path, the longest wins. If there is no such path, the reply is 404. The chosen application gets
/// the prefix as SCRIPT_NAME and the rest of the path as PATH_INFO (PEP 3333). REQUIRES: each path begins
/// with a slash, and only the path `/` ends with a slash.
[[nodiscard]] http::Application mount(std::vector<Mount> mounts);

}  // namespace rest_fcgi::netapi
