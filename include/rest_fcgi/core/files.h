// SPDX-License-Identifier: MIT
#pragma once

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// Returns the system's message for an error number. The default is errno.
[[nodiscard]] std::string errno_text(int error = errno);

/// Returns the kind of an error number. Temporary errors, such as a full disk or too many open files, have
/// the kind unavailable. All other errors have the kind internal.
[[nodiscard]] ErrorKind errno_kind(int error = errno) noexcept;

/// Writes all bytes. Errors: the kind that `errno_kind` returns, with the system's reason. errno still has
/// the error number then.
Result<void> write_all(int fd, std::string_view bytes);

/// Reads to the end of the file. Errors: the kind that `errno_kind` returns, with the system's reason;
/// internal, if the file has more than `most` bytes. errno still has the error number then.
Result<WipedBytes> read_to_end(int fd, std::size_t most);

/// Returns a text that differs after each change of the file's content. Returns an empty text if the file
/// changed within the last 20 ms, because a further change in this time would give the same text.
[[nodiscard]] std::string file_stamp(const struct stat& status);

/// Returns why a file or folder must not be trusted, or std::nullopt if it may be trusted. The owner must be
/// root or this process's user, and no mode bit of `forbidden` may be set. The text is the end of a sentence
/// that begins with the path, such as `belongs to user id 33, not to this process's 0`.
[[nodiscard]] std::optional<std::string> why_untrusted(const struct stat& status,
                                                       mode_t forbidden = S_IWGRP | S_IWOTH);

/// Opens a folder for files of this process's user. If the folder or its parent is missing, creates the
/// missing folders with mode 0700. Errors: configuration, if the folder cannot be created or opened, or if a
/// user other than root and this process's user can write to it. The message is the end of a sentence that
/// begins with the path.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path);

/// Checks whether only root and this process's user can change or replace a file or folder. Returns the first
/// insecure part of the path, from the file or folder up to the root; absent if all parts are secure. Other
/// users may write to a folder above that has the sticky bit, because they can replace only their own files
/// there. REQUIRES: the path has no symbolic links.
[[nodiscard]] std::optional<std::string> changeable_part(const std::filesystem::path& path);

}  // namespace rest_fcgi
