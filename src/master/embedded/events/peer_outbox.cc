// SPDX-License-Identifier: MIT
#include "master/embedded/events/peer_outbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "master/embedded/events/peer_frame.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::chrono::seconds kLinger{1};

/// Before a listener that could not be reached is tried again.
constexpr std::chrono::milliseconds kRetryPause{200};

Error unavailable(std::string what) {
  return {ErrorKind::unavailable, std::move(what)};
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

/// The sockets in the folder that have their final names. Errors: unavailable.
Result<std::vector<std::string>> sockets_in(int folder) {
  std::vector<std::string> names;
  UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> stream(fd ? ::fdopendir(fd.get()) : nullptr);
  if (!stream) return unavailable(errno_text());
  (void)fd.release();  // the stream closes it
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".sock") && !name.starts_with('.')) names.emplace_back(name);
  }
  return names;
}

/// A file system counts time in steps of some milliseconds: of two changes within one, the second leaves no
/// trace.
bool can_be_relied_on(const std::timespec& changed) {
  constexpr double kStep = 0.1;
  std::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const double age = static_cast<double>(now.tv_sec - changed.tv_sec) +
                     static_cast<double>(now.tv_nsec - changed.tv_nsec) / 1e9;
  return age > kStep || age < -kStep;
}

}  // namespace

PeerOutbox::PeerOutbox(int folder, std::string owner, std::size_t most_pending)
    : folder_(folder),
      owner_(std::move(owner)),
      most_pending_(most_pending),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

PeerOutbox::~PeerOutbox() {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::chrono::steady_clock::now() + kLinger;
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  thread_.join();
}

bool PeerOutbox::wanted() {
  const std::lock_guard lock(mutex_);
  look();
  return !peers_.empty();
}

void PeerOutbox::look() {
  struct stat status = {};
  if (::fstat(folder_, &status) != 0) return;
  const std::timespec changed = status.st_mtim;
  const bool same = seen_ && seen_->tv_sec == changed.tv_sec && seen_->tv_nsec == changed.tv_nsec;
  if (same && (!retry_ || std::chrono::steady_clock::now() < *retry_)) return;
  seen_.reset();
  if (can_be_relied_on(changed)) seen_ = changed;
  if (const Result<void> connected = connect_to_all(); connected) {
    retry_.reset();
  } else {
    if (!retry_) {
      log::warning(
          format("listeners of another process do not hear this one: {}", connected.error().message));
    }
    retry_ = std::chrono::steady_clock::now() + kRetryPause;
  }
}

/// Errors: unavailable, for the first socket that could not be reached and may be later. The others are.
Result<void> PeerOutbox::connect_to_all() {
  Result<void> result;
  const auto sockets = sockets_in(folder_);
  if (!sockets) return sockets.error();
  for (const std::string& name : *sockets) {
    const bool known =
        std::any_of(peers_.begin(), peers_.end(), [&](const Peer& peer) { return peer.name == name; });
    if (known || name.starts_with(owner_ + "-")) continue;
    if (Result<void> connected = connect(name); !connected && result) result = std::move(connected);
  }
  return result;
}

/// A socket at which nobody listens is no error.
Result<void> PeerOutbox::connect(const std::string& name) {
  if (peers_.size() == kMaxPeers) return unavailable(format("there are more than {} of them", kMaxPeers));
  const sockaddr_un address = socket_in(folder_, name);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket || !wake_) return unavailable(errno_text());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT) return {};
    if (errno != ECONNREFUSED) return unavailable(errno_text());
    ::unlinkat(folder_, name.c_str(), 0);  // of a process that has gone
    return {};
  }
  if (!is_of_this_user(socket.get())) return {};
  if (!thread_.joinable()) {
    auto thread = Thread::start(
        "peer-send", [this] { run(); }, kSmallStack);
    if (!thread) return unavailable(thread.error().message);
    thread_ = *std::move(thread);
  }
  peers_.push_back({std::move(socket), name});
  return {};
}

void PeerOutbox::publish(std::string_view tag, std::string_view data, std::string_view user) {
  std::string frame;
  append_frame(frame, {user, tag, data});
  {
    const std::lock_guard lock(mutex_);
    if (peers_.empty()) return;
    for (Peer& peer : peers_) {
      const bool full = !peer.pending.empty() && peer.pending.size() + frame.size() > most_pending_;
      if (full || frame.size() > kMaxPeerFrame) {
        peer.pending.clear();
        append_lost_frame(peer.pending);
      } else {
        peer.pending += frame;
      }
    }
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

void PeerOutbox::run() {
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{wake_.get(), POLLIN, 0}};
    int timeout = -1;
    {
      const std::lock_guard lock(mutex_);
      bool all_sent = true;
      for (const Peer& peer : peers_) {
        polled.push_back({peer.socket.get(), static_cast<short>(peer.has_all() ? 0 : POLLOUT), 0});
        all_sent = all_sent && peer.has_all();
      }
      if (end_) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*end_ - std::chrono::steady_clock::now());
        if (all_sent || left.count() <= 0) return;
        timeout = static_cast<int>(left.count());
      }
    }
    if (::poll(polled.data(), polled.size(), timeout) <= 0) continue;
    eventfd_t woken = 0;
    if (polled[0].revents != 0) static_cast<void>(::eventfd_read(wake_.get(), &woken));
    const std::lock_guard lock(mutex_);
    for (std::size_t i = polled.size() - 1; i-- > 0;) {
      const int happened = polled[i + 1].revents;
      if (happened == 0 || ((happened & (POLLERR | POLLHUP)) == 0 && send(peers_[i]))) continue;
      peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(i));
      seen_.reset();  // it may only have dropped this connection
    }
  }
}

/// As much as goes at once. False where nobody is there any more.
bool PeerOutbox::send(Peer& peer) {
  do {
    if (peer.sent == peer.sending.size()) {
      peer.sending.clear();
      peer.sending.swap(peer.pending);
      peer.sent = 0;
    }
    const ssize_t sent = ::send(peer.socket.get(), peer.sending.data() + peer.sent,
                                peer.sending.size() - peer.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    peer.sent += static_cast<std::size_t>(sent);
  } while (!peer.has_all());
  constexpr std::size_t kKept = std::size_t{1} << 20;
  if (peer.sending.capacity() > kKept) {  // there was a lot at once
    peer.sending = {};
    peer.sent = 0;
  }
  return true;
}

}  // namespace rest_fcgi::embedded
