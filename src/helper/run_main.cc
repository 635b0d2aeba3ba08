// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <linux/close_range.h>

#include "helper/run.h"
#include "helper/stream.h"

// Starts one program, for the responder at the other end of the socket that is its standard input, and stays
// until all is gone that the program started. The responder starts it for each program, or a socket unit does
// for each connection.

namespace rest_fcgi::helper {
namespace {

namespace wire = process::wire;
using Streams = std::array<UniqueFd, 3>;

constexpr const char* kUsage =
    "Usage: rest_fcgi_run [--peer USER]\n"
    "Starts the program that rest_fcgi orders on the socket that is standard input.\n\n"
    "  --peer USER    take orders only from this user and root at the other end of the socket\n";

int complain(const std::string& text, int status) {
  std::fputs(("rest_fcgi_run: " + text + "\n").c_str(), stderr);
  return status;
}

/// Reads the first bytes of the stream, with the descriptors that come with them.
bool read_header(std::array<char, wire::kHeader>& header, Streams& streams) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 3)> control{};
  iovec bytes{header.data(), header.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(STDIN_FILENO, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  const cmsghdr* const sent = CMSG_FIRSTHDR(&message);
  if (sent != nullptr && sent->cmsg_type == SCM_RIGHTS) {
    std::array<int, 3> fds{-1, -1, -1};
    std::memcpy(fds.data(), CMSG_DATA(sent), std::min(sizeof fds, sent->cmsg_len - CMSG_LEN(0)));
    for (std::size_t i = 0; i < fds.size(); ++i) streams[i] = UniqueFd(fds[i]);
  }
  return got == static_cast<ssize_t>(header.size());
}

std::optional<process::StartOrder> read_order(Streams& streams) {
  std::array<char, wire::kHeader> header{};
  if (!read_header(header, streams)) return std::nullopt;
  const auto size = wire::length_in({header.data(), header.size()});
  if (!size) return std::nullopt;
  std::string body(*size, '\0');
  if (!read_all(STDIN_FILENO, body.data(), body.size())) return std::nullopt;
  return wire::read_order(body);
}

int run_main(int argc, char** argv) {
  const bool has_peer = argc == 3 && std::string_view(argv[1]) == "--peer" && *argv[2] != '\0';
  if (argc != 1 && !has_peer) {
    std::fputs(kUsage, stderr);
    return EX_USAGE;
  }
  if (has_peer && !is_peer(argv[2])) {
    return complain("refused: standard input is no socket with the user " + std::string(argv[2]) +
                        " or root at its other end",
                    EX_NOPERM);
  }
  for (int fd = 0; fd >= 0 && fd <= STDERR_FILENO;)
    fd = ::open("/dev/null", O_RDWR);  // so that all three are there
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  ::signal(SIGPIPE, SIG_IGN);
  Streams streams;
  const auto order = read_order(streams);
  if (!order) return complain("standard input is no order of this version", EX_PROTOCOL);
  if (!streams[2].is_open()) {
    const wire::Reply reply =
        wire::make_reply(wire::Reply::Kind::failed, 0,
                         "The program '" + order->argv[0] + "' cannot be started: Too many open files");
    write_all(STDIN_FILENO, reinterpret_cast<const char*>(&reply), sizeof reply);
    return EXIT_FAILURE;
  }
  run(*order, std::move(streams), STDIN_FILENO);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run_main(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what(), EX_OSERR);
}
