// SPDX-License-Identifier: MIT
#include "master/embedded/modules/status_module.h"

#include <array>

namespace rest_fcgi::embedded {
namespace {

/// A function without arguments.
constexpr Function plain(std::string_view name, std::string_view summary, Reply (*run)(const Call&),
                         bool quick = true) {
  return {.name = name,
          .python_name = name.substr(name.find('.') + 1),
          .summary = summary,
          .example = name,
          .quick = quick,
          .run = run};
}

constexpr std::array kFunctions = {
    plain("status.all_status", "Return what most functions of ``status`` return, in one.",
          status_module::all_status, false),
    plain("status.cpuinfo", "Return what the kernel says of its last processor.", status_module::cpuinfo),
    plain("status.cpustats", "Return the numbers of /proc/stat.", status_module::cpustats),
    plain("status.diskstats", "Return the numbers of all block devices.", status_module::diskstats),
    Function{.name = "status.diskusage",
             .python_name = "diskusage",
             .takes_varargs = true,
             .summary =
                 "Return size and free space, in bytes, of all file systems, or of those at the given\n"
                 "paths, or of types that match.",
             .example = "status.diskusage\nstatus.diskusage / 'ext?'",
             .quick = false,
             .run = status_module::diskusage},
    plain("status.loadavg", "Return the load averages.", status_module::loadavg),
    plain("status.meminfo", "Return the numbers of /proc/meminfo.", status_module::meminfo),
    plain("status.netdev", "Return the numbers of all network devices.", status_module::netdev),
    plain("status.netstats", "Return the numbers of /proc/net/netstat.", status_module::netstats),
    plain("status.nproc", "Return how many processors we may use.", status_module::nproc),
    Function{.name = "status.pid",
             .python_name = "pid",
             .parameters = {{{"sig"}}},
             .summary =
                 "Return the pids, one a line, of the processes in whose user, pid and command line a\n"
                 "regular expression is found.",
             .example = "status.pid nginx",
             .quick = false,
             .run = status_module::pid},
    plain("status.procs", "Return users and command lines of all processes, by pid.", status_module::procs,
          false),
    Function{.name = "status.time",
             .python_name = "time_",
             .parameters = {{{"format", R"("%A, %d. %B %Y %I:%M%p")"}}},
             .summary = "Return the local time.",
             .example = "status.time\nstatus.time '%s'",
             .run = status_module::time},
    plain("status.uptime", "Return for how long the host runs, and how many users are logged in.",
          status_module::uptime),
    plain("status.version", "Return what the kernel says of its version.", status_module::version),
    plain("status.vmstats", "Return the numbers of /proc/vmstat.", status_module::vmstats),
};

}  // namespace

std::span<const Function> status_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
