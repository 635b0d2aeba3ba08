// SPDX-License-Identifier: MIT
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/unique_fd.h"

/// What the processes of one user on this host say to each other about events. Who listens has a socket in a
/// folder; who has events connects to each of them and sends frames: a head, and the texts whose sizes it
/// names.
namespace rest_fcgi::embedded {

/// Beyond this an event is not told to other processes.
inline constexpr std::size_t kMaxPeerFrame = std::size_t{64} << 20;

/// So many processes does one hear, and tell what happens.
inline constexpr std::size_t kMaxPeers = 256;

struct PeerEvent {
  std::string_view user;
  std::string_view tag;
  std::string_view data;
};

void append_frame(std::string& out, const PeerEvent& event);

/// Instead of events that were dropped.
void append_lost_frame(std::string& out);

struct PeerFrame {
  enum class Kind : std::uint8_t {
    event,
    lost,
    broken,  ///< nothing that this program sends
  };
  Kind kind = Kind::event;
  PeerEvent event;       ///< looks into the bytes
  std::size_t size = 0;  ///< of all of it
};

/// The first frame of the bytes; absent as long as it is not whole.
[[nodiscard]] std::optional<PeerFrame> first_frame(std::string_view bytes);

/// The address of a socket in an open folder, however long that one's path is.
[[nodiscard]] sockaddr_un socket_in(int folder, const std::string& name);

/// Does the process at the other end run as the same user?
[[nodiscard]] bool is_of_this_user(int socket);

}  // namespace rest_fcgi::embedded
