// SPDX-License-Identifier: MIT
#pragma once

#include "lowstate/chunk_reader.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::lowstate {

/// Reads `tgt`, `tgt_type` and `delimiter`.
void read_target(ChunkReader& reader, Client client, Target& target);

}  // namespace rest_fcgi::lowstate
