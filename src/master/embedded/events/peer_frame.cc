// SPDX-License-Identifier: MIT
#include "master/embedded/events/peer_frame.h"

#include <unistd.h>

#include <cstring>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

/// Both ends are the same program on the same host, though perhaps of two releases.
struct Head {
  std::uint32_t kind = 0;
  std::uint32_t user = 0;  ///< sizes in bytes
  std::uint32_t tag = 0;
  std::uint32_t data = 0;
};
constexpr std::uint32_t kEvent = 0x31455652;
constexpr std::uint32_t kLost = 0x314c5652;

void append_head(std::string& out, const Head& head) {
  char bytes[sizeof head];
  std::memcpy(bytes, &head, sizeof head);
  out.append(bytes, sizeof bytes);
}

}  // namespace

void append_frame(std::string& out, const PeerEvent& event) {
  append_head(out,
              {kEvent, static_cast<std::uint32_t>(event.user.size()),
               static_cast<std::uint32_t>(event.tag.size()), static_cast<std::uint32_t>(event.data.size())});
  out.append(event.user).append(event.tag).append(event.data);
}

void append_lost_frame(std::string& out) {
  append_head(out, {kLost, 0, 0, 0});
}

std::optional<PeerFrame> first_frame(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  PeerFrame frame;
  frame.size = sizeof head + std::size_t{head.user} + head.tag + head.data;
  if ((head.kind != kEvent && head.kind != kLost) || frame.size > kMaxPeerFrame) {
    frame.kind = PeerFrame::Kind::broken;
    return frame;
  }
  if (bytes.size() < frame.size) return std::nullopt;
  if (head.kind == kLost) frame.kind = PeerFrame::Kind::lost;
  bytes.remove_prefix(sizeof head);
  frame.event = {bytes.substr(0, head.user), bytes.substr(head.user, head.tag),
                 bytes.substr(std::size_t{head.user} + head.tag, head.data)};
  return frame;
}

sockaddr_un socket_in(int folder, const std::string& name) {
  sockaddr_un address{AF_UNIX, {}};
  // A path of the folder's own may be longer than an address may.
  const std::string path = format("/proc/self/fd/{}/{}", folder, name);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace rest_fcgi::embedded
