// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace rest_fcgi::watch {

struct Options {
  std::string url;  ///< `url` leads to rest_cherrypy or rest_tornado, such as `http://127.0.0.1:8000`.
  /// Globs. Only events whose tag matches one of the globs are shown. An empty list shows all events.
  std::vector<std::string> tags;
  bool as_json = false;    ///< If `as_json` is true, each line is a JSON object with `tag` and `data`.
  bool in_colour = false;  ///< Whether lines contain the colours of a terminal (ECMA-48, SGR).
};

}  // namespace rest_fcgi::watch
