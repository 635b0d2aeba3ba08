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
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi {

/// Returns the system's message for an error number.
[[nodiscard]] std::string errno_text(int error = errno);

/// Returns `unavailable` for temporary errors such as a full disk, and `internal` for all other errors.
[[nodiscard]] ErrorKind errno_kind(int error = errno) noexcept;

/// Writes all bytes. Errors: the kind that `errno_kind` returns. A failure leaves the error number in errno.
Result<void> write_all(int fd, std::string_view bytes);

/// Reads to the end of the file. Errors: the kind that `errno_kind` returns; internal, if the file has more
/// bytes than the parameter `most`. A failure leaves the error number in errno.
Result<std::string> read_to_end(int fd, std::size_t most);

/// Returns a text that differs after each change of a file. In the first 20 ms after a change, returns an
/// empty text, because a second change may not change the file's time stamp.
[[nodiscard]] std::string file_stamp(const struct stat& status);

/// Returns why a file or folder must not be trusted, or std::nullopt if the file is safe. The owner must be
/// root or this process's user. No mode bit of `forbidden` may be set. The text continues a sentence that
/// begins with the path.
[[nodiscard]] std::optional<std::string> why_untrusted(const struct stat& status,
                                                       mode_t forbidden = S_IWGRP | S_IWOTH);

/// Opens a folder that only root and this process's user can write to. Creates a missing folder and its
/// parent with mode 0700. Errors: configuration. The message continues a sentence that begins with the path.
Result<UniqueFd> open_private_folder(const std::string& path);

/// Goes from the end of `path` up to the root. Returns the first file or folder that other users can change.
/// Accepts a parent folder with the sticky bit. REQUIRES: the path has no symbolic links.
[[nodiscard]] std::optional<std::string> changeable_part(const std::filesystem::path& path);

}  // namespace rest_fcgi
