// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/result.h"

namespace rest_fcgi::returner {

/// A file next to the database, or where one would be, mapped into memory and locked for as long as this
/// lives; the lock says that its process does. What is written into the mapping outlives the process, however
/// it ends. Not synchronized.
class SpoolFile {
 public:
  /// Makes one with `size` bytes that the disk has set aside. Errors: unavailable, with the cause.
  [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> create(const std::string& database,
                                                                 std::size_t size);

  /// Those that processes left behind which do not live any more. What cannot be read is left alone.
  [[nodiscard]] static std::vector<std::unique_ptr<SpoolFile>> left_behind(const std::string& database);

  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  [[nodiscard]] char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// What was written into it is on the disk when this comes back. Errors: unavailable.
  [[nodiscard]] Result<void> sync();

  /// Somebody removed it: what is in it ends with this process.
  [[nodiscard]] bool is_gone() const noexcept;

  /// Takes the file away, when nothing in it is needed any more.
  void remove() noexcept;

 private:
  SpoolFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  [[nodiscard]] bool map(std::size_t size) noexcept;

  int fd_;  // owned
  std::string path_;
  char* data_ = nullptr;  // mapped
  std::size_t size_ = 0;
};

}  // namespace rest_fcgi::returner
