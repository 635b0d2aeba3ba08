// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::lowstate {

/// The name of a function, whether it stands in `fun` by itself or in a list.
std::string_view read_function_name(ChunkReader& reader, JsonValue fun);

}  // namespace rest_fcgi::lowstate
