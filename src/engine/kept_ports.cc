// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/kept_ports.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include <systemd/sd-daemon.h>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

// The names of the descriptors in systemd's store (FDNAME=):
//   port-HOST-PORT   a listening socket. `_` replaces each `:` of HOST.
//   worker           a pidfd of an earlier worker (supervisor.cc)
// After `take_passed`, the other descriptors have the numbers from SD_LISTEN_FDS_START on without gaps, and
// LISTEN_FDS and LISTEN_FDNAMES describe these descriptors.

namespace rest_fcgi::engine {
namespace {

constexpr std::string_view kPrefix = "port-";

/// A number above the descriptors that systemd passes.
constexpr int kAbovePassed = 100;

/// The longest wait until systemd has closed a port.
constexpr std::chrono::microseconds kCloseTime = std::chrono::seconds(5);

std::string name_of(const gateway::HttpOptions& options) {
  std::string name = format("{}{}-{}", kPrefix, options.host, options.port);
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

/// The first name belongs to descriptor 3 (SD_LISTEN_FDS_START).
std::vector<std::string> passed_names() {
  char** names = nullptr;
  const int count = ::sd_listen_fds_with_names(0, &names);
  std::vector<std::string> result;
  for (int at = 0; at < count; ++at) {
    result.emplace_back(names[at]);
    std::free(names[at]);
  }
  std::free(names);
  return result;
}

}  // namespace

std::vector<UniqueFd> take_passed(const std::function<bool(const std::string&)>& is_wanted) {
  std::vector<UniqueFd> taken;
  std::string left;
  int fd = SD_LISTEN_FDS_START;
  int next = SD_LISTEN_FDS_START;
  for (const std::string& name : passed_names()) {
    UniqueFd passed(fd++);
    if (is_wanted(name)) {
      taken.emplace_back(::fcntl(passed.get(), F_DUPFD_CLOEXEC, kAbovePassed));
      continue;
    }
    // The descriptors that are left get the lowest numbers.
    if (passed.get() == next) static_cast<void>(passed.release());
    if (passed) ::dup2(passed.get(), next);
    ++next;
    left.append(left.empty() ? "" : ":").append(name);
  }
  if (taken.empty()) return taken;
  ::setenv("LISTEN_FDS", std::to_string(next - SD_LISTEN_FDS_START).c_str(), 1);
  ::setenv("LISTEN_FDNAMES", left.c_str(), 1);
  return taken;
}

bool store(std::string_view name, int fd) {
  const std::string lines = format("FDSTORE=1\nFDNAME={}\nFDPOLL=0", name);
  const int sent = ::sd_pid_notify_with_fds(0, 0, lines.c_str(), &fd, 1);
  if (sent < 0) log::warning(format("systemd cannot keep {} during a restart: {}", name, errno_text(-sent)));
  return sent > 0;
}

void drop_stored(std::string_view name) {
  ::sd_notify(0, format("FDSTOREREMOVE=1\nFDNAME={}", name).c_str());
}

void drop_stale_ports(const std::vector<gateway::HttpOptions>& http) {
  const auto is_stale = [&http](const std::string& name) {
    const auto has_name = [&name](const gateway::HttpOptions& options) { return name_of(options) == name; };
    if (!name.starts_with(kPrefix) || std::any_of(http.begin(), http.end(), has_name)) return false;
    // Makes systemd close the port. Otherwise clients could connect, but would get no reply.
    drop_stored(name);
    return true;
  };
  // If the port is now wanted on another address, it can be opened only after systemd has closed it.
  if (!take_passed(is_stale).empty()) ::sd_notify_barrier(0, kCloseTime.count());
}

bool store_port(const gateway::HttpOptions& options, int fd) {
  // Without FDSTORE, the unit allows no descriptor store, or systemd is older than 254.
  return std::getenv("FDSTORE") != nullptr && store(name_of(options), fd);
}

}  // namespace rest_fcgi::engine
