// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/helper_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi {
namespace {

Error unavailable(std::string cause) {
  return {ErrorKind::unavailable, std::move(cause)};
}

/// The child has the socket as standard input and output, default signals and its own process group.
class SpawnAttributes {
 public:
  explicit SpawnAttributes(int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
    // Closes all files of the child except its three standard files, because some libraries open files
    // without O_CLOEXEC.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() {
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

bool is_peer_trusted(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || peer.uid == ::geteuid());
}

}  // namespace

Result<HelperProcess> HelperProcess::start(const std::string& helper, std::chrono::milliseconds timeout) {
  constexpr std::string_view kSocket = "unix:";
  return helper.starts_with(kSocket) ? connect(helper.substr(kSocket.size()), timeout) : spawn(helper);
}

Result<HelperProcess> HelperProcess::spawn(const std::string& path) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return unavailable(format("cannot create a socket for the helper: {}", errno_text()));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  pid_t process = 0;
  if (const int error = SpawnAttributes(theirs.get()).spawn(path, process); error != 0) {
    return unavailable(format("cannot start the helper {}: {}", path, errno_text(error)));
  }
  return HelperProcess(std::move(ours), process);
}

Result<HelperProcess> HelperProcess::connect(const std::string& path, std::chrono::milliseconds timeout) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return unavailable(format("the socket path {} is too long", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto left = std::max(timeout, std::chrono::milliseconds(1)).count();
  const timeval limit{left / 1000, left % 1000 * 1000};
  const bool connected =
      socket.is_open() && ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  if (!connected) return unavailable(format("cannot connect to the socket {}: {}", path, errno_text()));
  if (!is_peer_trusted(socket.get())) {
    return unavailable(format(
        "the process that serves the socket {} belongs neither to root nor to this process's user", path));
  }
  return HelperProcess(std::move(socket), 0);
}

HelperProcess::~HelperProcess() {
  if (process_ == 0) return;
  // Closes the socket before the kill, because this process cannot kill a child process of another user. Such
  // a child process ends when its input ends.
  socket_.reset();
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string shipped(const std::string& name) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path beside = folder / name;
  if (!error && std::filesystem::exists(beside, error)) return beside;
  return folder.parent_path() / "lib/rest_fcgi" / name;
}

}  // namespace rest_fcgi
