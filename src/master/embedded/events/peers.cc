// SPDX-License-Identifier: MIT
#include "master/embedded/events/peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <random>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::embedded {

namespace {

/// Beyond this an event is not told to other processes.
constexpr std::size_t kMaxPeerFrame = std::size_t{64} << 20;

/// So often it looks whether anybody listens still.
constexpr std::chrono::milliseconds kLookTime{1000};

/// Between two times that readers end since there are too many processes.
constexpr std::chrono::minutes kRefusalPause{1};

/// Of one peer, before others have their turn.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

constexpr std::chrono::seconds kLinger{1};

/// Before a listener that could not be reached is tried again.
constexpr std::chrono::milliseconds kRetryPause{200};

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

/// Does the process at the other end run as the same user?
bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

Error unavailable(std::string what) {
  return {ErrorKind::unavailable, std::move(what)};
}

/// The sockets in the folder that have their final names. Errors: unavailable.
Result<std::vector<std::string>> sockets_in(int folder) {
  std::vector<std::string> names;
  const Listing listing = list_folder(folder);
  if (!listing) return unavailable(errno_text());
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".sock") && !name.starts_with('.')) names.emplace_back(name);
  }
  return names;
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

Result<std::unique_ptr<Peers>> Peers::open(const std::string& folder, std::shared_ptr<master::EventLog> log,
                                           std::size_t most_pending) {
  Result<UniqueFd> opened = open_private_folder(folder);
  if (!opened) return std::move(opened).error();
  // Processes of another user who may use the folder are not heard, and have a number of their own.
  const std::string name = format("listened-{}", ::geteuid());
  const UniqueFd file(
      ::openat(opened->get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  master::SharedNumber listened = master::map_number(file);
  if (!listened) return Error{ErrorKind::configuration, format("cannot be used: {}: {}", name, errno_text())};
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return Error{ErrorKind::configuration, format("cannot be used: {}", errno_text())};
  std::random_device dice;
  std::string owner = format("{}-{:08x}{:08x}", ::getpid(), std::uint32_t{dice()}, std::uint32_t{dice()});
  return std::unique_ptr<Peers>(new Peers(*std::move(opened), std::move(listened), std::move(owner),
                                          std::move(wake), std::move(log), most_pending));
}

Peers::~Peers() {
  {
    const std::lock_guard lock(mutex_);
    end_ = std::chrono::steady_clock::now() + kLinger;
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
  thread_.join();
}

Result<void> Peers::start_thread() {
  if (thread_.joinable()) return {};
  auto thread = Thread::start(
      "peer-events", [this] { run(); }, kSmallStack);
  if (!thread) return unavailable(thread.error().message);
  thread_ = *std::move(thread);
  return {};
}

void Peers::run() {
  std::vector<pollfd> polled;
  bool takes_more = true;
  for (;;) {
    int listening = -1;
    int timeout = -1;
    {
      const std::lock_guard lock(mutex_);
      const std::optional<int> time = time_to_wait();
      if (!time) return;
      timeout = *time;
      listening = listening_.get();
      polled = {{wake_.get(), POLLIN, 0}, {takes_more ? listening : -1, POLLIN, 0}};
      for (const Teller& teller : tellers_) polled.push_back({teller.socket.get(), POLLIN, 0});
      for (const Listener& listener : listeners_) {
        polled.push_back({listener.socket.get(), static_cast<short>(listener.has_all() ? 0 : POLLOUT), 0});
      }
    }
    ::poll(polled.data(), polled.size(), timeout);
    eventfd_t woken = 0;
    if (polled[0].revents != 0) static_cast<void>(::eventfd_read(wake_.get(), &woken));
    const std::size_t first_listener = 2 + tellers_.size();
    send_to_those_of(std::span(polled).subspan(first_listener));
    for (std::size_t i = first_listener; i-- > 2;) {
      const bool gone = polled[i].revents != 0 && !receive(tellers_[i - 2]);
      if (gone) tellers_.erase(tellers_.begin() + static_cast<std::ptrdiff_t>(i - 2));
    }
    // Who waits for a descriptor that is not there would wake the thread again at once.
    takes_more = polled[1].revents == 0 || accept(listening);
  }
}

void Peers::send_to_those_of(std::span<const pollfd> polled) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = polled.size(); i-- > 0;) {
    const int happened = polled[i].revents;
    if (happened == 0 || ((happened & (POLLERR | POLLHUP)) == 0 && send(listeners_[i]))) continue;
    listeners_.erase(listeners_.begin() + static_cast<std::ptrdiff_t>(i));
    seen_ = kNever;  // it may only have dropped this connection
  }
}

/// In milliseconds, for `poll`; absent where it is over.
std::optional<int> Peers::time_to_wait() {
  if (end_ || (listening_ && !log_->wanted())) stop_listening();
  if (!end_) return listening_ ? static_cast<int>(kLookTime.count()) : -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_ - std::chrono::steady_clock::now());
  const bool all_sent = std::all_of(listeners_.begin(), listeners_.end(),
                                    [](const Listener& listener) { return listener.has_all(); });
  if (all_sent || left.count() <= 0) return std::nullopt;
  return static_cast<int>(left.count());
}

// What others tell.

Result<std::unique_ptr<master::EventReader>> Peers::reader(const master::EventPermit& permit,
                                                           std::string_view after) {
  // One step, so that nobody finds between the two that the log is not wanted.
  const std::lock_guard lock(mutex_);
  if (Result<void> listens = listen(); !listens) return std::move(listens).error();
  return log_->reader(permit, after);
}

/// Others connect as soon as they see the socket, and remove one at which nobody listens. So it gets its name
/// last; a new one each time, as who was connected to the one before may not know yet that it has gone.
Result<void> Peers::listen() {
  if (listening_) return {};
  if (Result<void> started = start_thread(); !started) return started;
  const std::string name = format("{}-{}.sock", owner_, ++opened_);
  const std::string unfinished = "." + name;
  const sockaddr_un address = socket_in(folder_.get(), unfinished);
  UniqueFd made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made && ::bind(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(made.get(), SOMAXCONN) == 0 &&
      ::renameat(folder_.get(), unfinished.c_str(), folder_.get(), name.c_str()) == 0) {
    listened_->fetch_add(1);
    listening_ = std::move(made);
    name_ = name;
    static_cast<void>(::eventfd_write(wake_.get(), 1));
    return {};
  }
  const Error error = unavailable(format("The events of other processes cannot be heard: {}", errno_text()));
  ::unlinkat(folder_.get(), unfinished.c_str(), 0);
  return error;
}

void Peers::stop_listening() {
  if (listening_) ::unlinkat(folder_.get(), name_.c_str(), 0);
  listening_.reset();
  tellers_.clear();
}

/// False where somebody waits whom the process has no descriptor for now.
bool Peers::accept(int listening) {
  for (;;) {
    UniqueFd socket(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return errno == EAGAIN;
    if (!is_of_this_user(socket.get())) continue;
    if (tellers_.size() < kMaxPeers) {
      tellers_.push_back({std::move(socket)});
      continue;
    }
    refuse();
  }
}

/// Who is refused comes again with its next event: readers that ended each time would hear nothing at all.
void Peers::refuse() {
  const SteadyTime now = std::chrono::steady_clock::now();
  if (refused_ && now - *refused_ < kRefusalPause) return;
  refused_ = now;
  log::warning(format("more than {} processes tell this one their events", kMaxPeers));
  lose();
}

/// False where there is nothing more to come. Who went without a word was killed, and told all that it had
/// told: only a part of a frame is a loss.
/// Large frames may take more memory than there is. What came of them is lost then, and the process goes on.
bool Peers::receive(Teller& teller) {
  try {
    return receive_some(teller);
  } catch (const std::exception& exception) {
    teller.bytes = std::string();
    log::safely([&exception] {
      log::error(format("events of another process cannot be taken: {}", exception.what()));
    });
    lose();
    return false;
  }
}

bool Peers::receive_some(Teller& teller) {
  char chunk[65536];
  for (std::size_t got_all = 0; got_all < kMostAtOnce;) {
    const ssize_t got = ::recv(teller.socket.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return true;
    if (got <= 0) {
      if (!teller.bytes.empty()) lose();
      return false;
    }
    got_all += static_cast<std::size_t>(got);
    teller.bytes.append(chunk, static_cast<std::size_t>(got));
    if (!take_frames(teller)) return false;
  }
  return true;
}

bool Peers::take_frames(Teller& teller) {
  std::string_view rest = teller.bytes;
  while (const auto frame = first_frame(rest)) {
    if (frame->kind != PeerFrame::Kind::event) lose();
    if (frame->kind == PeerFrame::Kind::broken) return false;
    if (frame->kind == PeerFrame::Kind::event) {
      log_->append(frame->event.tag, Json::trusted(std::string(frame->event.data)), frame->event.user);
    }
    rest.remove_prefix(frame->size);
  }
  teller.bytes.erase(0, teller.bytes.size() - rest.size());
  return true;
}

void Peers::lose() {
  log_->lose("Events of another process of this host were lost.");
}

// What others are told.

bool Peers::wanted() {
  if (listened_->load() == nobody_at_.load()) return false;
  const std::lock_guard lock(mutex_);
  look();
  return !listeners_.empty();
}

void Peers::look() {
  // Read first: who begins to listen while others are connected to raises it once more.
  const std::int64_t listened = listened_->load();
  if (listened == seen_ && (!retry_ || std::chrono::steady_clock::now() < *retry_)) return;
  seen_ = listened;
  if (const Result<void> connected = connect_to_all(); connected) {
    retry_.reset();
  } else {
    if (!retry_) {
      log::warning(
          format("listeners of another process do not hear this one: {}", connected.error().message));
    }
    retry_ = std::chrono::steady_clock::now() + kRetryPause;
  }
  if (!retry_ && listeners_.empty()) nobody_at_ = listened;
}

/// Errors: unavailable, for the first socket that could not be reached and may be later. The others are.
Result<void> Peers::connect_to_all() {
  Result<void> result;
  const auto sockets = sockets_in(folder_.get());
  if (!sockets) return sockets.error();
  for (const std::string& name : *sockets) {
    const bool known = std::any_of(listeners_.begin(), listeners_.end(),
                                   [&](const Listener& listener) { return listener.name == name; });
    if (known || name.starts_with(owner_ + "-")) continue;
    if (Result<void> connected = connect(name); !connected && result) result = std::move(connected);
  }
  return result;
}

/// A socket at which nobody listens is no error.
Result<void> Peers::connect(const std::string& name) {
  if (listeners_.size() == kMaxPeers) return unavailable(format("there are more than {} of them", kMaxPeers));
  const sockaddr_un address = socket_in(folder_.get(), name);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return unavailable(errno_text());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == ENOENT) return {};
    if (errno != ECONNREFUSED) return unavailable(errno_text());
    ::unlinkat(folder_.get(), name.c_str(), 0);  // of a process that has gone
    return {};
  }
  if (!is_of_this_user(socket.get())) return {};
  if (Result<void> started = start_thread(); !started) return started;
  listeners_.push_back({std::move(socket), name});
  return {};
}

void Peers::publish(std::string_view tag, std::string_view data, std::string_view user) {
  std::string frame;
  append_frame(frame, {user, tag, data});
  {
    const std::lock_guard lock(mutex_);
    if (listeners_.empty()) return;
    for (Listener& listener : listeners_) {
      const bool full = !listener.pending.empty() && listener.pending.size() + frame.size() > most_pending_;
      if (full || frame.size() > kMaxPeerFrame) {
        listener.pending.clear();
        append_lost_frame(listener.pending);
      } else {
        listener.pending += frame;
      }
    }
  }
  static_cast<void>(::eventfd_write(wake_.get(), 1));
}

/// As much as goes at once. False where nobody is there any more.
bool Peers::send(Listener& listener) {
  do {
    if (listener.sent == listener.sending.size()) {
      listener.sending.clear();
      listener.sending.swap(listener.pending);
      listener.sent = 0;
    }
    const ssize_t sent = ::send(listener.socket.get(), listener.sending.data() + listener.sent,
                                listener.sending.size() - listener.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    listener.sent += static_cast<std::size_t>(sent);
  } while (!listener.has_all());
  constexpr std::size_t kKept = std::size_t{1} << 20;
  if (listener.sending.capacity() > kKept) {  // there was a lot at once
    listener.sending = {};
    listener.sent = 0;
  }
  return true;
}

}  // namespace rest_fcgi::embedded
