// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

/// What both helper programs do with the socket that is their standard input.
namespace rest_fcgi::helper {

/// Is this user, or root, at the other end of standard input?
[[nodiscard]] bool is_peer(const std::string& user);

/// False at the end of the stream before all was read.
[[nodiscard]] bool read_all(int fd, char* to, std::size_t size);

/// False where nobody reads it any more.
bool write_all(int fd, const char* from, std::size_t size);

}  // namespace rest_fcgi::helper
