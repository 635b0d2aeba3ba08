// SPDX-License-Identifier: MIT
#include "auth/pam_pool.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/format.h"

// How a helper comes to be, and how it ends.

// What is said to a helper that stands.

namespace rest_fcgi::auth {
namespace {

Error unavailable(std::string cause) {
  return {ErrorKind::unavailable, std::move(cause)};
}

/// How a child begins: our socket as its standard input and output, no signal blocked or ignored, and in a
/// process group of its own, which keys at a terminal do not reach.
class Beginning {
 public:
  explicit Beginning(int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
    // Not all that libraries open here is closed on exec.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  ~Beginning() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  [[nodiscard]] int spawn(const std::string& path, pid_t& process) const {
    std::string name = path;
    std::string search = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    const std::array<char*, 2> arguments{name.data(), nullptr};
    const std::array<char*, 2> environment{search.data(), nullptr};
    return ::posix_spawn(&process, path.c_str(), &actions_, &attributes_, arguments.data(),
                         environment.data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

timeval time_until(SteadyTime deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(std::max(
      deadline - std::chrono::steady_clock::now(), SteadyTime::duration(std::chrono::milliseconds(1))));
  return {left.count() / 1000, left.count() % 1000 * 1000};
}

/// Passwords go to nobody but root and this process's own user.
bool is_trusted(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

int milliseconds_until(SteadyTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3600 * 1000));
}

bool is_passing(int error) {
  return error == EINTR || error == EAGAIN;
}

Error ended(ErrorKind kind) {
  return {kind, "the helper has ended"};
}

/// A socket whose other end goes with bytes unread is reset; where all was read it just comes to its end.
Error failed() {
  if (errno == EPIPE || errno == ECONNRESET) return ended(ErrorKind::not_found);
  return {ErrorKind::internal, format("the helper cannot be reached: {}", errno_text())};
}

}  // namespace

Result<PamHelper> PamHelper::start(const std::string& helper, SteadyTime deadline) {
  constexpr std::string_view kSocket = "unix:";
  return helper.starts_with(kSocket) ? connect(helper.substr(kSocket.size()), deadline) : spawn(helper);
}

Result<PamHelper> PamHelper::spawn(const std::string& path) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return unavailable(format("there is no socket for the helper: {}", errno_text()));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  pid_t process = 0;
  if (const int error = Beginning(theirs.get()).spawn(path, process); error != 0) {
    return unavailable(
        format("the helper {} cannot be started: {}", path, std::generic_category().message(error)));
  }
  return PamHelper(std::move(ours), process);
}

Result<PamHelper> PamHelper::connect(const std::string& path, SteadyTime deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return unavailable(format("the socket path {} is too long", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience = time_until(deadline);
  const bool connected =
      socket.is_open() &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!connected) return unavailable(format("the socket {} cannot be connected: {}", path, errno_text()));
  if (!is_trusted(socket.get())) {
    return unavailable(format("the socket {} belongs neither to root nor to this process's user", path));
  }
  return PamHelper(std::move(socket), 0);
}

PamHelper::PamHelper(PamHelper&& other) noexcept
    : socket_(std::move(other.socket_)), process_(std::exchange(other.process_, 0)) {}

PamHelper::~PamHelper() {
  if (process_ == 0) return;
  // One that left its group, or runs as somebody else, cannot be killed: it sees the end of its input.
  socket_.reset();
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Result<void> PamHelper::wait_for(short event, SteadyTime deadline) const {
  pollfd wanted{socket_.get(), event, 0};
  for (;;) {
    const int ready = ::poll(&wanted, 1, milliseconds_until(deadline));
    if (ready > 0) return {};
    if (ready == 0) return Error{ErrorKind::timeout, "the helper did not answer in time"};
    if (errno != EINTR) return failed();
  }
}

Result<void> PamHelper::send(std::string_view bytes, SteadyTime deadline) const {
  while (!bytes.empty()) {
    if (auto ready = wait_for(POLLOUT, deadline); !ready) return ready;
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && !is_passing(errno)) return failed();
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<WipedBytes> PamHelper::receive(std::size_t size, SteadyTime deadline) const {
  WipedBytes bytes(size);
  for (std::size_t got = 0; got < size;) {
    if (auto ready = wait_for(POLLIN, deadline); !ready) return std::move(ready).error();
    const ssize_t more = ::recv(socket_.get(), bytes.data() + got, size - got, MSG_DONTWAIT);
    if (more == 0) return ended(ErrorKind::internal);
    if (more < 0 && !is_passing(errno)) return failed();
    if (more > 0) got += static_cast<std::size_t>(more);
  }
  return bytes;
}

Result<pam::Answer> PamHelper::ask(const WipedBytes& frame, SteadyTime deadline) {
  if (auto sent = send({frame.data(), frame.size()}, deadline); !sent) return std::move(sent).error();
  const auto header = receive(pam::kHeader, deadline);
  if (!header) return header.error();
  const auto size = pam::body_size({header->data(), header->size()});
  if (!size) return Error{ErrorKind::internal, "the helper's answer is longer than any can be"};
  const auto body = receive(*size, deadline);
  if (!body) return body.error();
  auto answer = pam::read_answer({body->data(), body->size()});
  if (!answer) return Error{ErrorKind::internal, "the helper's answer is none of this version"};
  return *std::move(answer);
}

Result<pam::Answer> PamPool::ask(const pam::Request& request) {
  const WipedBytes frame = to_frame(request);
  const SteadyTime deadline = std::chrono::steady_clock::now() + options_.timeout;
  Result<MaybeHelper> taken = take(deadline);
  if (!taken) return std::move(taken).error();
  MaybeHelper helper = *std::move(taken);
  Result<pam::Answer> answer = ask_one(helper, frame, deadline);
  if (!answer) helper.reset();
  give_back(std::move(helper));
  return answer;
}

Result<PamPool::MaybeHelper> PamPool::take(SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  if (busy_ == options_.max_helpers) {
    if (waiting_ == options_.max_waiting) {
      return Error{ErrorKind::unavailable, format("{} logins wait for a helper already", waiting_)};
    }
    ++waiting_;
    const bool free = returned_.wait_until(lock, deadline, [this] { return busy_ < options_.max_helpers; });
    --waiting_;
    if (!free) return Error{ErrorKind::timeout, "all helpers were busy for too long"};
  }
  ++busy_;
  if (idle_.empty()) return MaybeHelper();
  MaybeHelper helper(std::move(idle_.back()));
  idle_.pop_back();
  return helper;
}

void PamPool::give_back(MaybeHelper helper) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    if (helper) idle_.push_back(*std::move(helper));
  }
  returned_.notify_one();
}

Result<pam::Answer> PamPool::ask_one(MaybeHelper& helper, const WipedBytes& frame,
                                     SteadyTime deadline) const {
  if (helper) {
    Result<pam::Answer> answer = helper->ask(frame, deadline);
    // It may have ended long ago; that says nothing about this request. One that ended over it may have tried
    // the password, which modules that count failures must see no second time.
    if (answer || answer.error().kind != ErrorKind::not_found) return answer;
    helper.reset();
  }
  Result<PamHelper> started = PamHelper::start(options_.helper, deadline);
  if (!started) return std::move(started).error();
  helper.emplace(*std::move(started));
  return helper->ask(frame, deadline);
}

}  // namespace rest_fcgi::auth
