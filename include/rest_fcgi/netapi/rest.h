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

/// Makes an application that replies as Salt's `rest_cherrypy` does, with JSON and YAML. The session is a
/// token of the master, in a cookie or in X-Auth-Token. A whole request is checked before any part of the
/// request runs.
///
/// The event streams are registered in `streams`. REQUIRES: `streams` uses the same `client` as the
/// application. If the front end can send event streams or WebSockets, it sets the variable
/// `rest_fcgi.streams` or `rest_fcgi.websocket` of the request to `1`.
///
/// Errors: configuration, for a malformed address, network or origin, and for two routes with the same path.
/// A file that cannot be opened is only logged.
Result<http::Application> make_rest_cherrypy(const RestCherrypyOptions& options,
                                             std::shared_ptr<const client::NetapiClient> client,
                                             std::shared_ptr<StreamRegistry> streams, const Clock& clock);

/// Makes an application that replies as Salt's `rest_tornado` (saltnado) does. Errors: the errors of
/// `make_rest_cherrypy`.
Result<http::Application> make_rest_tornado(const RestTornadoOptions& options,
                                            std::shared_ptr<const client::NetapiClient> client,
                                            std::shared_ptr<StreamRegistry> streams, const Clock& clock);

/// Makes an application that replies as Salt's `rest_wsgi` does. A client posts lowstate to `/`, and the
/// reply is `{"return": [...]}`. All chunks are checked before one of them runs. If a chunk fails, the member
/// `completed` of the reply has the results of earlier chunks, and `partial` has the results of the failed
/// chunk. Without PATH_INFO, the path comes from REQUEST_URI.
[[nodiscard]] http::Application make_rest_wsgi(const Options& options,
                                               std::shared_ptr<const client::NetapiClient> client,
                                               const Clock& clock);

struct Mount {
  std::string path;  ///< A path such as `/api`. The path `/` is a prefix of every path.
  http::Application application;
};

/// Returns an application that passes each request to the mount with the longest matching prefix. The mount
/// gets this prefix as SCRIPT_NAME and the rest as PATH_INFO (PEP 3333). Other requests get 404. REQUIRES:
/// each path begins with a slash, and only the path `/` ends with a slash.
[[nodiscard]] http::Application mount(std::vector<Mount> mounts);

}  // namespace rest_fcgi::netapi
