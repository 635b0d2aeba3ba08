// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/module.h"

/// Functions of Salt's execution module `status`, by their names in Python.
namespace rest_fcgi::embedded::status_module {

[[nodiscard]] Reply cpuinfo(const Call& call);
[[nodiscard]] Reply cpustats(const Call& call);
[[nodiscard]] Reply diskstats(const Call& call);
[[nodiscard]] Reply meminfo(const Call& call);
[[nodiscard]] Reply netdev(const Call& call);
[[nodiscard]] Reply netstats(const Call& call);
[[nodiscard]] Reply vmstats(const Call& call);
[[nodiscard]] Reply version(const Call& call);

[[nodiscard]] Reply diskusage(const Call& call);
[[nodiscard]] Reply loadavg(const Call& call);
[[nodiscard]] Reply nproc(const Call& call);
[[nodiscard]] Reply pid(const Call& call);
[[nodiscard]] Reply procs(const Call& call);
[[nodiscard]] Reply time(const Call& call);
[[nodiscard]] Reply uptime(const Call& call);

[[nodiscard]] Reply all_status(const Call& call);

}  // namespace rest_fcgi::embedded::status_module
