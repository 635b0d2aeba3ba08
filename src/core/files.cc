// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi {
namespace {

/// Two changes of a file within this time may have the same time stamp.
constexpr std::chrono::milliseconds kTimeStampStep{20};

std::chrono::nanoseconds since_epoch(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool make_folder(const std::string& path) {
  return ::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST;
}

/// Returns false and sets errno on failure.
bool make_folder_with_parent(const std::string& path) {
  if (make_folder(path)) return true;
  const std::size_t slash = path.rfind('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  return make_folder(path.substr(0, slash)) && make_folder(path);
}

Error unusable(std::string why) {
  return {ErrorKind::configuration, std::move(why)};
}

/// Also sets errno to `error`.
Error failed(std::string_view what, int error) {
  Error failure{errno_kind(error), format("{}: {}", what, errno_text(error))};
  errno = error;
  return failure;
}

}  // namespace

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

ErrorKind errno_kind(int error) noexcept {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EROFS:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EIO:
      return ErrorKind::unavailable;
    default:
      return ErrorKind::internal;
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("cannot be written", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_to_end(int fd, std::size_t most) {
  std::string bytes;
  std::size_t filled = 0;
  for (;;) {
    if (filled == bytes.size()) bytes.resize(filled < 2048 ? 4096 : filled * 2);
    const ssize_t got = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot be read", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled > most) {
      Error too_large{ErrorKind::internal, format("is larger than {} bytes", most)};
      errno = EFBIG;
      return too_large;
    }
  }
  bytes.resize(filled);
  return bytes;
}

std::string file_stamp(const struct stat& status) {
  const auto changed = since_epoch(status.st_ctim);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  if (std::chrono::abs(now - changed) < kTimeStampStep) return {};
  const std::array<std::uint64_t, 5> numbers = {
      status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
      static_cast<std::uint64_t>(since_epoch(status.st_mtim).count()),
      static_cast<std::uint64_t>(changed.count())};
  return {reinterpret_cast<const char*>(numbers.data()), sizeof numbers};
}

std::optional<std::string> why_untrusted(const struct stat& status, mode_t forbidden) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return format("belongs to {}, expected root or {}, the user of this process", shown_user(status.st_uid),
                  shown_user(::geteuid()));
  }
  if ((status.st_mode & forbidden) == 0) return std::nullopt;
  const bool is_folder = S_ISDIR(status.st_mode);
  return format("has mode {:04o}, with which other users could {}; expected mode {}", status.st_mode & 07777,
                is_folder ? "put files into it" : "use it", is_folder ? "0700" : "0600");
}

Result<UniqueFd> open_private_folder(const std::string& path) {
  const std::string trimmed = path.substr(0, path.find_last_not_of('/') + 1);
  if (!make_folder_with_parent(trimmed))
    return unusable(format("cannot be made: {}", why_unwritable(trimmed)));
  UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!folder.is_open() || ::fstat(folder.get(), &status) != 0) {
    return unusable(format("cannot be opened: {}", why_unreadable(trimmed)));
  }
  if (auto why = why_untrusted(status)) return unusable(*std::move(why));
  return folder;
}

std::optional<std::string> changeable_part(const std::filesystem::path& path) {
  for (std::filesystem::path part = path;; part = part.parent_path()) {
    struct stat status {};
    if (::lstat(part.c_str(), &status) != 0) return part.string();
    const bool is_sticky_above = part != path && (status.st_mode & S_ISVTX) != 0;
    if (why_untrusted(status, is_sticky_above ? mode_t{0} : mode_t{S_IWGRP | S_IWOTH})) return part.string();
    if (part == part.root_path()) return std::nullopt;
  }
}

}  // namespace rest_fcgi
