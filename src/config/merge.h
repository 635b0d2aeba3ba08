// SPDX-License-Identifier: MIT
#pragma once

#include "config/tree.h"

/// How Salt puts several files together.
namespace rest_fcgi::config {

/// Adds an included file to those included before it (Salt's `dictupdate.update` with `merge_lists`): maps
/// are merged key by key, a list gets the items that it lacks, all else is replaced. REQUIRES: both are maps.
void merge_included(Node& into, Node file);

/// Replaces whole top-level keys: what all included files gave wins over the file that includes them.
/// REQUIRES: both are maps.
void replace_keys(Node& into, Node from);

}  // namespace rest_fcgi::config
