// SPDX-License-Identifier: MIT
#pragma once

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Reads what a local chunk holds besides its credentials. Keys that it does not know are ignored, as by
/// Salt.
void read_local_call(ChunkReader& reader, Client client, LocalCall& call);

}  // namespace rest_fcgi::lowstate
