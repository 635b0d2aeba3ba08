// SPDX-License-Identifier: MIT
#include "master/embedded/events/peer_inbox.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>

#include "master/embedded/events/peer_frame.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

/// So often it looks whether anybody listens still.
constexpr int kLookMilliseconds = 1000;

/// Between two times that readers end since there are too many processes.
constexpr std::chrono::minutes kRefusalPause{1};

/// Of one peer, before others have their turn.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

}  // namespace

PeerInbox::PeerInbox(int folder, std::string owner, std::shared_ptr<master::EventLog> log)
    : folder_(folder),
      owner_(std::move(owner)),
      log_(std::move(log)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PeerInbox::~PeerInbox() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    close();
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  thread_.join();
}

Result<std::unique_ptr<master::EventReader>> PeerInbox::reader(const master::EventPermit& permit,
                                                               std::string_view after) {
  // One step, so that nobody finds between the two that the log is not wanted.
  const std::lock_guard lock(mutex_);
  if (Result<void> started = start(); !started) return std::move(started).error();
  return log_->reader(permit, after);
}

Result<void> PeerInbox::start() {
  if (listening_) return {};
  if (Result<void> opened = open(); !opened) return opened;
  // Waits for the one before, which is on its way out, and needs no lock for that any more.
  auto thread = Thread::start(
      "peer-events", [this] { run(); }, kSmallStack);
  if (thread) {
    thread_ = *std::move(thread);
    return {};
  }
  close();
  return Error{ErrorKind::unavailable, thread.error().message};
}

/// Others connect as soon as they see the socket, and remove one at which nobody listens. So it gets its name
/// last; a new one each time, as who was connected to the one before may not know yet that it has gone.
Result<void> PeerInbox::open() {
  const std::string name = format("{}-{}.sock", owner_, ++opened_);
  const std::string unfinished = "." + name;
  const sockaddr_un address = socket_in(folder_, unfinished);
  UniqueFd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (wake_ && made && ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(made.get(), SOMAXCONN) == 0 &&
      ::renameat(folder_, unfinished.c_str(), folder_, name.c_str()) == 0) {
    listening_ = std::move(made);
    name_ = name;
    return {};
  }
  const Error error{ErrorKind::unavailable,
                    format("The events of other processes cannot be heard: {}", errno_text())};
  ::unlinkat(folder_, unfinished.c_str(), 0);
  return error;
}

void PeerInbox::close() {
  if (!listening_) return;
  ::unlinkat(folder_, name_.c_str(), 0);
  listening_.reset();
}

/// Closes the socket once the log is not wanted any more.
bool PeerInbox::goes_on() {
  const std::lock_guard lock(mutex_);
  if (!ending_ && log_->wanted()) return true;
  close();
  return false;
}

void PeerInbox::run() {
  int listening = -1;
  {
    const std::lock_guard lock(mutex_);
    listening = listening_.get();
  }
  std::vector<Peer> peers;
  std::vector<pollfd> polled;
  while (goes_on()) {
    polled = {{wake_.get(), POLLIN, 0}, {listening, POLLIN, 0}};
    for (const Peer& peer : peers) polled.push_back({peer.socket.get(), POLLIN, 0});
    if (::poll(polled.data(), polled.size(), kLookMilliseconds) <= 0) continue;
    for (std::size_t i = peers.size(); i-- > 0;) {
      const bool gone = polled[i + 2].revents != 0 && !receive(peers[i]);
      if (gone) peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) accept(peers);
  }
}

void PeerInbox::accept(std::vector<Peer>& peers) {
  const std::lock_guard lock(mutex_);
  if (!listening_) return;
  for (;;) {
    UniqueFd socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return;
    if (!is_of_this_user(socket.get())) continue;
    if (peers.size() < kMaxPeers) {
      peers.push_back({std::move(socket)});
      continue;
    }
    refuse();
  }
}

/// Who is refused comes again with its next event: readers that ended each time would hear nothing at all.
void PeerInbox::refuse() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (refused_ && now - *refused_ < kRefusalPause) return;
  refused_ = now;
  log::warning(format("more than {} processes tell this one their events", kMaxPeers));
  lose();
}

/// False where there is nothing more to come. Who went without a word was killed, and told all that it had
/// told: only a part of a frame is a loss.
bool PeerInbox::receive(Peer& peer) {
  char chunk[65536];
  for (std::size_t got_all = 0; got_all < kMostAtOnce;) {
    const ssize_t got = ::recv(peer.socket.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      if (!peer.bytes.empty()) lose();
      return false;
    }
    got_all += static_cast<std::size_t>(got);
    peer.bytes.append(chunk, static_cast<std::size_t>(got));
    if (!take_frames(peer)) return false;
  }
  return true;
}

bool PeerInbox::take_frames(Peer& peer) {
  std::string_view rest = peer.bytes;
  while (const auto frame = first_frame(rest)) {
    if (frame->kind != PeerFrame::Kind::event) lose();
    if (frame->kind == PeerFrame::Kind::broken) return false;
    if (frame->kind == PeerFrame::Kind::event) {
      log_->append(frame->event.tag, Json::trusted(std::string(frame->event.data)), frame->event.user);
    }
    rest.remove_prefix(frame->size);
  }
  peer.bytes.erase(0, peer.bytes.size() - rest.size());
  return true;
}

void PeerInbox::lose() {
  log_->lose("Events of another process of this host were lost.");
}

}  // namespace rest_fcgi::embedded
