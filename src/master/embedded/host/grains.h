// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded {

/// The grains about the operating system that Salt derives from the text of `/etc/os-release`: os, os_family,
/// osfullname, osrelease, osmajorrelease, oscodename, osfinger. Members that the text does not tell are left
/// out.
[[nodiscard]] Json os_grains(std::string_view os_release);

/// What is known about this host, under Salt's names and computed as Salt does; read anew with each call.
[[nodiscard]] Json host_grains();

/// `over` laid over `base`: objects are merged member by member, all else of `over` replaces.
/// REQUIRES: both are objects.
[[nodiscard]] Json merge_objects(JsonValue base, JsonValue over);

}  // namespace rest_fcgi::embedded
