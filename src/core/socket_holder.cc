// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/socket_holder.h"

#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {
namespace {

/// An address as /proc/net/tcp writes it: the words of the IP address in hexadecimal, and the port.
struct TableAddress {
  std::string ip;
  std::string port;

  [[nodiscard]] bool is_any() const { return ip.find_first_not_of('0') == std::string::npos; }
};

TableAddress in_table(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return {format("{:08X}", v4.sin_addr.s_addr), format("{:04X}", ntohs(v4.sin_port))};
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::array<std::uint32_t, 4> words{};
  std::memcpy(words.data(), &v6.sin6_addr, sizeof words);
  TableAddress made{"", format("{:04X}", ntohs(v6.sin6_port))};
  for (const std::uint32_t word : words) made.ip += format("{:08X}", word);
  return made;
}

struct Listener {
  std::string inode;
  uid_t user = 0;
};

/// Reads a table of proc(5). Its columns are: number, local address, remote address, state, queues, timer,
/// retransmissions, uid, timeout, inode.
std::optional<Listener> find_listener(const char* table, const TableAddress& wanted) {
  constexpr std::string_view kListening = "0A";
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 10 || words[3] != kListening) continue;
    const std::size_t colon = words[1].find(':');
    const TableAddress there{std::string(words[1].substr(0, colon)), std::string(words[1].substr(colon + 1))};
    if (there.port != wanted.port) continue;
    if (there.ip != wanted.ip && !there.is_any() && !wanted.is_any()) continue;
    return Listener{std::string(words[9]), parse_number<uid_t>(words[7]).value_or(0)};
  }
  return std::nullopt;
}

bool has_socket(const std::filesystem::path& process, const std::string& inode) {
  std::error_code error;
  const std::string wanted = format("socket:[{}]", inode);
  for (const auto& entry : std::filesystem::directory_iterator(process / "fd", error)) {
    if (std::filesystem::read_symlink(entry.path(), error) == wanted) return true;
  }
  return false;
}

/// Returns the last service in the paths of /proc/PID/cgroup.
std::string service_of(const std::filesystem::path& process) {
  constexpr std::string_view kService = ".service";
  std::string unit;
  std::ifstream file(process / "cgroup");
  for (std::string line; std::getline(file, line);) {
    for (std::string_view rest = line; !rest.empty();) {
      const std::string_view part = next_token(rest, '/');
      if (part.ends_with(kService)) unit = part;
    }
  }
  return unit;
}

void describe_process(const std::filesystem::path& process, SocketHolder& holder) {
  std::ifstream(process / "comm") >> holder.name;
  holder.unit = service_of(process);
}

}  // namespace

std::optional<SocketHolder> find_port_holder(const sockaddr& address) {
  const TableAddress wanted = in_table(address);
  auto listener = find_listener("/proc/net/tcp", wanted);
  if (!listener) listener = find_listener("/proc/net/tcp6", wanted);
  if (!listener) return std::nullopt;
  SocketHolder holder{listener->user};
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().string());
    if (!pid || !has_socket(entry.path(), listener->inode)) continue;
    holder.pid = *pid;
    describe_process(entry.path(), holder);
    // systemd also has the sockets that it passes to services.
    if (*pid != 1) break;
  }
  return holder;
}

std::optional<SocketHolder> find_path_holder(const std::string& path) {
  sockaddr_un address = {AF_UNIX, {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return std::nullopt;
  SocketHolder holder{peer.uid, peer.pid};
  describe_process(std::filesystem::path("/proc") / std::to_string(peer.pid), holder);
  return holder;
}

std::string describe(const SocketHolder& holder) {
  if (holder.pid == 0) {
    return format(
        "a process of the user {} listens there: as root, `ss -ltnp` names the process; if it is salt-api: "
        "systemctl disable --now salt-api",
        shown_user(holder.user));
  }
  if (holder.pid == 1)
    return "systemd listens there for a socket unit: `systemctl list-sockets` names the unit";
  if (holder.unit.empty()) {
    return format("the process {} ({}) listens there: end it, or choose another address", holder.pid,
                  holder.name);
  }
  return format("the process {} ({}) of {} listens there: systemctl disable --now {}", holder.pid,
                holder.name, holder.unit, holder.unit.substr(0, holder.unit.rfind('.')));
}

}  // namespace rest_fcgi
