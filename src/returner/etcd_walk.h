// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/etcd_layout.h"
#include "returner/etcd_store.h"

namespace rest_fcgi::returner {

/// Walks over the loads that the query means, in the order of their jids. What has no load is passed over.
/// Newest first, it begins at `now`, where most that is asked for lies. Errors: those of the store.
[[nodiscard]] Result<void> walk_loads(EtcdStore& store, const EtcdOptions& options, WallTime now,
                                      const JobQuery& query, const LoadVisitor& visit);

/// When a read of etcd has to have come back.
[[nodiscard]] EtcdStore::Deadline read_deadline();

}  // namespace rest_fcgi::returner
