// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "rest_fcgi/metrics/registry.h"

namespace rest_fcgi::metrics {
namespace {

/// The fields of /proc/self/stat (proc_pid_stat(5)) that become metrics.
struct Stat {
  double cpu_ticks = 0, threads = 0, start_ticks = 0, virtual_bytes = 0, resident_pages = 0;
};

Stat read_stat() {
  std::ifstream file("/proc/self/stat");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};
  // Skips the pid, the name and the state (fields 1 to 3).
  std::istringstream fields(text.substr(end_of_name + 4));
  std::array<double, 21> values{};  // The values of the fields 4 to 24.
  for (double& value : values) fields >> value;
  return {values[10] + values[11], values[16], values[18], values[19], values[20]};
}

double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

double count_open_files() {
  struct Close {
    void operator()(DIR* folder) const { ::closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(::opendir("/proc/self/fd"));
  if (!folder) return 0;
  double count = -1;  // `folder` itself is an open file and does not count.
  while (const dirent* entry = ::readdir(folder.get())) {
    if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) != 0) ++count;
  }
  return count;
}

double limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<double>(limit.rlim_cur);
}

void write_process(Writer& writer) {
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const Stat stat = read_stat();
  static const double booted = boot_time();
  writer.counter("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.",
                 stat.cpu_ticks / ticks);
  const double open = count_open_files();
  const double most = limit_of(RLIMIT_NOFILE);
  writer.gauge("process_open_fds", "Number of open file descriptors.", open);
  writer.gauge("process_max_fds", "Maximum number of open file descriptors.", most);
  writer.gauge("rest_fcgi_files_left", "File descriptors that can still be opened.",
               std::max(most - open, 0.0));
  writer.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", stat.virtual_bytes);
  writer.gauge("process_virtual_memory_max_bytes",
               "Maximum amount of virtual memory available in bytes; -1 without a limit.",
               limit_of(RLIMIT_AS));
  writer.gauge("process_resident_memory_bytes", "Resident memory size in bytes.",
               stat.resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  writer.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.",
               booted + stat.start_ticks / ticks);
  writer.gauge("process_threads", "Number of threads of the process.", stat.threads);
}

}  // namespace

void add_process_metrics(Registry& registry) {
  registry.on_collect(write_process);
}

}  // namespace rest_fcgi::metrics
