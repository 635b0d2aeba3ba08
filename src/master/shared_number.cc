// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/shared_number.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace rest_fcgi::master {

void UnmapNumber::operator()(std::atomic<std::int64_t>* number) const noexcept {
  ::munmap(number, sizeof *number);
}

SharedNumber map_number(const UniqueFd& file) noexcept {
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return nullptr;
  int error = status.st_uid == ::geteuid() ? 0 : EPERM;
  // Memory that is not really there would end the process when it is first used: any user can fill /dev/shm.
  // Several processes may do this at once: it reads as 0, and what was written stays.
  constexpr std::size_t kSize = sizeof(std::atomic<std::int64_t>);
  if (error == 0) error = ::posix_fallocate(file.get(), 0, kSize);
  errno = error;
  if (error != 0) return nullptr;
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  // Zero bytes are a valid lock-free atomic number on every system that has shared memory of this kind.
  return SharedNumber(memory == MAP_FAILED ? nullptr : static_cast<std::atomic<std::int64_t>*>(memory));
}

}  // namespace rest_fcgi::master
