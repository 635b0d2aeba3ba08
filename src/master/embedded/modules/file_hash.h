// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded {

/// The hash of a file's content, as a JSON text, by Python's name of the hash, or what Python raises where
/// there is no such hash or file. Regular files alone. Ends early when a stop is requested.
[[nodiscard]] Reply hash_of_file(const std::string& path, std::string_view name, const Context& context);

}  // namespace rest_fcgi::embedded
