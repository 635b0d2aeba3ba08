// SPDX-License-Identifier: MIT
#include "gateway/unix_socket.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <utility>

#include "gateway/listener.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::gateway {
namespace {

Error failure(std::string why) {
  return {ErrorKind::configuration, std::move(why), {}};
}

class Address {
 public:
  explicit Address(const std::string& path) { path.copy(address_.sun_path, sizeof address_.sun_path - 1); }
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() noexcept { return sizeof(sockaddr_un); }

 private:
  sockaddr_un address_ = {AF_UNIX, {}};
};

UniqueFd new_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Makes sure that nothing is in the way at `path`.
Result<void> clear_path(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return failure(errno_text());
  }
  if (!S_ISSOCK(status.st_mode)) return failure("the path exists and is not a socket; it is left alone");

  const UniqueFd probe = new_socket();
  const Address address(path);
  // EAGAIN: somebody listens, and the queue is full.
  if (::connect(probe.get(), address.get(), Address::size()) == 0 || errno == EAGAIN) {
    return failure("another process is serving this socket");
  }
  if (errno != ECONNREFUSED) {
    return failure(format("cannot tell whether a process is serving this socket: {}", errno_text()));
  }
  if (::unlink(path.c_str()) != 0) return failure(format("cannot replace the old socket: {}", errno_text()));
  return {};
}

/// Owner and group as numbers; -1 is what chown(2) takes for "as it is".
struct Ownership {
  uid_t user = static_cast<uid_t>(-1);
  gid_t group = static_cast<gid_t>(-1);
};

Result<Ownership> find_ownership(const Options& options) {
  Ownership ownership;
  // Before any thread starts, so the functions with static storage will do.
  if (!options.socket_owner.empty()) {
    const passwd* user = ::getpwnam(options.socket_owner.c_str());
    if (user == nullptr) return failure(format("socket_owner: there is no user '{}'", options.socket_owner));
    ownership.user = user->pw_uid;
  }
  if (!options.socket_group.empty()) {
    const group* found = ::getgrnam(options.socket_group.c_str());
    if (found == nullptr)
      return failure(format("socket_group: there is no group '{}'", options.socket_group));
    ownership.group = found->gr_gid;
  }
  return ownership;
}

Result<void> set_access(const std::string& path, const Ownership& ownership, mode_t mode) {
  if (::lchown(path.c_str(), ownership.user, ownership.group) != 0) {
    return failure(format("cannot set the socket's owner or group: {}", errno_text()));
  }
  if (::chmod(path.c_str(), mode) != 0) {
    return failure(format("cannot set the socket's mode: {}", errno_text()));
  }
  return {};
}

}  // namespace

SocketFile::SocketFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) path_.clear();
  device_ = status.st_dev;
  inode_ = status.st_ino;
}

SocketFile::SocketFile(SocketFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), device_(other.device_), inode_(other.inode_) {}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  remove();
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

void SocketFile::remove() noexcept {
  if (path_.empty()) return;
  struct stat status {};
  const bool ours =
      ::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  if (ours) ::unlink(path_.c_str());
  path_.clear();
}

Result<UnixSocket> open_unix_socket(const std::string& path, const Options& options) {
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty()) return failure("there is no path after 'unix:'");
  if (path.size() > kMaxPath) {
    return failure(format("the path has {} bytes; a unix socket's has {} at most", path.size(), kMaxPath));
  }
  auto ownership = find_ownership(options);
  if (!ownership) return std::move(ownership).error();
  if (auto cleared = clear_path(path); !cleared) return std::move(cleared).error();

  UnixSocket made{new_socket(), {}};
  const Address address(path);
  const mode_t old_mask = ::umask(0177);
  const int bound = ::bind(made.fd.get(), address.get(), Address::size());
  const int bind_error = errno;
  ::umask(old_mask);
  if (bound != 0) return failure(errno_text(bind_error));
  made.file = SocketFile(path);

  // Connections are refused until listen(2), so nobody gets in under the access rights of before.
  if (auto set = set_access(path, *ownership, options.socket_mode); !set) return std::move(set).error();
  if (::listen(made.fd.get(), kBacklog) != 0) return failure(errno_text());
  return made;
}

}  // namespace rest_fcgi::gateway
