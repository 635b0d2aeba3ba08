// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <string>

#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The name of a unix socket in the file system. Owns it: removes it at the end, if it is still the same
/// file.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept;
  SocketFile& operator=(SocketFile&& other) noexcept;
  ~SocketFile() { remove(); }

  void remove() noexcept;

 private:
  std::string path_;  ///< empty: nothing to remove
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

struct UnixSocket {
  UniqueFd fd;
  SocketFile file;
};

/// Binds `path` and listens on it. Nobody can connect before owner, group and mode are what the options ask
/// for. A socket that nobody serves any more is replaced. Errors: configuration, saying why without naming
/// the path.
Result<UnixSocket> open_unix_socket(const std::string& path, const Options& options);

}  // namespace rest_fcgi::gateway
