// SPDX-License-Identifier: MIT
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

#include "auth/pam_helper.h"
#include "rest_fcgi/core/format.h"

// How a helper comes to be, and how it ends.

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

}  // namespace rest_fcgi::auth
