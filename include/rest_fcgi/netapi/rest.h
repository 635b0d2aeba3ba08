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

/// Makes Salt's `rest_cherrypy`: `/`, `/login`, `/logout`, `/token`, `/run`, `/minions`, `/jobs`, `/keys`,
/// `/hook`, `/stats`, `/events`, `/ws` and files, with bodies and replies in JSON or YAML. The session, a
/// token of the master, comes in a cookie or in X-Auth-Token. Nothing of a request runs before its form,
/// credentials and permissions are checked. Errors are `{"status": 404, "return": "..."}` in the form that
/// `Accept` asks for.
///
/// Event streams are registered in `streams`, which has to use the same client. The front end sets the
/// variable `rest_fcgi.streams` to `1` if it can send event streams, and `rest_fcgi.websocket` if it can send
/// WebSockets. Clients cannot set variables with such names.
///
/// Errors: configuration, for a malformed address, network or origin, and for two routes with the same path.
/// Files of the options that cannot be opened only cause a warning in the log.
[[nodiscard]] Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                                           std::shared_ptr<const client::NetapiClient> client,
                                                           std::shared_ptr<StreamRegistry> streams,
                                                           const Clock& clock);

/// Makes Salt's `rest_tornado` (saltnado) from the same parts, with its own URLs, texts and statuses. Errors:
/// as for make_rest_cherrypy.
[[nodiscard]] Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                                          std::shared_ptr<const client::NetapiClient> client,
                                                          std::shared_ptr<StreamRegistry> streams,
                                                          const Clock& clock);

/// Makes Salt's `rest_wsgi`: a POST of lowstate to `/` is answered with `{"return": [...]}` in JSON. All
/// chunks are checked before the first one runs. If a chunk fails while it runs, the reply has the results of
/// the chunks before it as `completed`, a list of objects with `return` and `jid`, and what the failed chunk
/// had returned until then as `partial`. Each chunk gets an audit line.
///
/// The path is PATH_INFO if it is set and not empty, otherwise the path of REQUEST_URI.
[[nodiscard]] http::Application make_rest_wsgi(const Options& options,
                                               std::shared_ptr<const client::NetapiClient> client,
                                               const Clock& clock);

/// An application and the path below which its URLs are.
struct Mount {
  std::string path;  ///< such as `/api`; `/` stands for every path
  http::Application application;
};

/// Returns an application that passes each request to the application with the longest path that is a prefix
/// of the request's path, and answers 404 if there is none. That application gets the matched part as
/// SCRIPT_NAME and the rest as PATH_INFO (PEP 3333). REQUIRES: each path begins with a slash; only `/` ends
/// with one.
[[nodiscard]] http::Application mount(std::vector<Mount> mounts);

}  // namespace rest_fcgi::netapi
