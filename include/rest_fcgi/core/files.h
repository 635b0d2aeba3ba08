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

/// Returns the system's text for an error number, by default errno.
[[nodiscard]] std::string errno_text(int error = errno);

/// Returns unavailable for errors that may pass, such as a full disk or too many open files; internal for all
/// others.
[[nodiscard]] ErrorKind errno_kind(int error = errno) noexcept;

/// Writes all bytes. Errors: of `errno_kind`, with the system's reason; errno keeps it.
Result<void> write_all(int fd, std::string_view bytes);

/// Reads to the end of the file. Errors: the kind of `errno_kind` with the system's reason, and errno keeps
/// its value; internal, if there are more than `most` bytes.
Result<WipedBytes> read_to_end(int fd, std::size_t most);

/// Returns a value that changes whenever the file's content changes. Empty if the file changed within the
/// last 20 ms, since another change would not be noticed.
[[nodiscard]] std::string file_stamp(const struct stat& status);

/// Returns why a file or folder must not be trusted, as the end of a sentence that begins with its path:
/// `belongs to user id 33, not to this process's 0`. Root and this process's user are trusted owners;
/// `forbidden` are the mode bits that must not be set. std::nullopt: it may be trusted.
[[nodiscard]] std::optional<std::string> why_untrusted(const struct stat& status,
                                                       mode_t forbidden = S_IWGRP | S_IWOTH);

/// Opens a folder for files of this process's user. If the folder or its parent is missing, creates it with
/// mode 0700. Errors: configuration, if the folder cannot be created or opened, or if other users than this
/// one and root can write to it. The message continues a sentence that begins with the path.
[[nodiscard]] Result<UniqueFd> open_private_folder(const std::string& path);

/// Returns the first part of a path, from its end on, that a user other than root and this process's user may
/// change or replace: the file or folder itself, or a folder above it. In a sticky folder, users can replace
/// only their own files. Absent: there is no such part. REQUIRES: the path has no symbolic links.
[[nodiscard]] std::optional<std::string> changeable_part(const std::filesystem::path& path);

}  // namespace rest_fcgi
