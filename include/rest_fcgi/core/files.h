// SPDX-License-Identifier: MIT
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// What the system says to an error number, by default to the calling thread's last one.
[[nodiscard]] std::string errno_text(int error = errno);

/// What kind of error that is: unavailable where the system is short of something (room, descriptors, memory)
/// or a disk fails, so that what was asked for may be right and another try succeed; internal for all else.
[[nodiscard]] ErrorKind errno_kind(int error = errno) noexcept;

/// Writes all of `bytes`, however often that takes. Errors: of `errno_kind`, `cannot be written: ` and the
/// system's reason, which also stands in errno.
Result<void> write_all(int fd, std::string_view bytes);

/// All that can be read from here on, `most` bytes at the most. Errors: of `errno_kind`, with the cause;
/// internal for more of them; the system's reason also stands in errno.
Result<WipedBytes> read_to_end(int fd, std::size_t most);

enum class Links { follow, refuse };

/// All bytes of a regular file, `path` being relative to the folder `folder`. Never waits for a pipe or
/// device that somebody put in its place. Errors: those of `read_to_end`; not_found; of `errno_kind`, with
/// the cause.
Result<WipedBytes> read_regular_file(int folder, const std::string& path, Links links, std::size_t most);

struct CloseListing {
  void operator()(DIR* stream) const noexcept { ::closedir(stream); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

/// What is in an open folder, for `readdir`; from its start on, however far others that list it have come.
/// Null: errno says why.
[[nodiscard]] Listing list_folder(int folder);

/// What tells the bytes of a file from those that were in its place before. Empty where it has changed so
/// lately that it may change again, and nobody could tell.
[[nodiscard]] std::string file_stamp(const struct stat& status);

/// Returns why a file or folder must not be trusted, as the end of a sentence that begins with its path:
/// `belongs to user id 33, not to this process's 0`. Root and this process's user are trusted owners;
/// `forbidden` are the mode bits that must not be set. std::nullopt: it may be trusted.
[[nodiscard]] std::optional<std::string> why_untrusted(const struct stat& status,
                                                       mode_t forbidden = S_IWGRP | S_IWOTH);

/// Opens a folder whose files are for this process's user alone. Makes it so (0700), and also the one above
/// it, where they are missing. Errors: configuration, the end of a sentence that begins with its path, where
/// that cannot be done or others than this user and root could put files into it.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path);

/// The first part of a path without links, from its end on, that others than root and this process's user may
/// change or replace: the file or folder itself, or one that it lies in. In a sticky folder nobody replaces
/// what is another's. Absent: there is none.
[[nodiscard]] std::optional<std::string> changeable_part(const std::filesystem::path& path);

}  // namespace rest_fcgi
