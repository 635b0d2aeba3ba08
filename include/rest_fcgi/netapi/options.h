// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/lowstate/options.h"

namespace rest_fcgi::netapi {

struct Options {
  lowstate::Options lowstate;
  bool audit_as_json = false;  ///< audit lines as JSON objects; else `key=value` text
};

}  // namespace rest_fcgi::netapi
