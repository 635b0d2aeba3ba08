// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "rest_fcgi/returner/watch.h"
#include "returner/etcd/store.h"
#include "returner/etcd/watch/changes.h"

namespace rest_fcgi::returner {

/// For how long others take it that somebody listens here.
inline constexpr std::chrono::seconds kListeningTtl{120};

/// Tells what is put in etcd. `events` keeps what it is given for `kListeningTtl`; `name` is nobody else's.
/// Borrows the listener.
[[nodiscard]] std::unique_ptr<Watch> make_etcd_watch(const EtcdOptions& options, const std::string& name,
                                                     std::unique_ptr<EtcdChanges> changes,
                                                     std::unique_ptr<EtcdStore> events,
                                                     ClusterListener& listener);

}  // namespace rest_fcgi::returner
