// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi::watch {

struct Options {
  std::string url;        ///< `url` leads to rest_cherrypy or rest_tornado, such as `http://127.0.0.1:8000`.
  std::string tag = "*";  ///< `tag` is a glob. Only events whose tag matches the glob are shown.
  bool as_json = false;   ///< If `as_json` is true, each line is a JSON object with `tag` and `data`.
};

}  // namespace rest_fcgi::watch
