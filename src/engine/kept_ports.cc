// SPDX-License-Identifier: MIT
#include "rest_fcgi/engine/kept_ports.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <systemd/sd-daemon.h>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::engine {
namespace {

constexpr std::string_view kPrefix = "port-";

std::string name_of(const gateway::HttpOptions& options) {
  std::string name = format("{}{}-{}", kPrefix, options.host, options.port);
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

std::optional<std::uint16_t> listening_port(int fd) {
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || is_listening == 0) {
    return std::nullopt;
  }
  sockaddr_storage address{};
  size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  // `sin_port` and `sin6_port` are at the same offset.
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return std::nullopt;
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
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

void drop_stale_ports(const std::vector<gateway::HttpOptions>& http) {
  const std::vector<std::string> names = passed_names();
  if (names.empty()) return;
  int fd = SD_LISTEN_FDS_START;
  int next = SD_LISTEN_FDS_START;
  for (const std::string& name : names) {
    const auto has_name = [&name](const gateway::HttpOptions& options) { return name_of(options) == name; };
    const bool is_wanted = !name.starts_with(kPrefix) || std::any_of(http.begin(), http.end(), has_name);
    if (is_wanted && fd != next) ::dup2(fd, next);
    if (!is_wanted || fd != next) ::close(fd);
    if (is_wanted) {
      ++next;
    } else {
      // Makes systemd close the port. Otherwise clients could connect, but would get no reply.
      ::sd_notify(0, format("FDSTOREREMOVE=1\nFDNAME={}", name).c_str());
    }
    ++fd;
  }
  // `setenv` is safe, because no other thread reads the environment yet.
  ::setenv("LISTEN_FDS", std::to_string(next - SD_LISTEN_FDS_START).c_str(), 1);
}

void store_ports(const std::vector<gateway::HttpOptions>& http) {
  if (std::getenv("FDSTORE") == nullptr)
    return;  // Without FDSTORE, the unit allows no descriptor store, or systemd is older than 254.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const auto fd = parse_number<int>(entry.path().filename().string());
    const auto port = fd ? listening_port(*fd) : std::nullopt;
    if (!port) continue;
    const auto options = std::find_if(http.begin(), http.end(),
                                      [&](const gateway::HttpOptions& one) { return one.port == *port; });
    if (options == http.end()) continue;
    const int socket = *fd;
    const std::string lines = format("FDSTORE=1\nFDNAME={}\nFDPOLL=0", name_of(*options));
    if (const int sent = ::sd_pid_notify_with_fds(0, 0, lines.c_str(), &socket, 1); sent < 0) {
      log::warning(format("port {}: systemd cannot keep this port open during a restart: {}", *port,
                          errno_text(-sent)));
    }
  }
}

}  // namespace rest_fcgi::engine
