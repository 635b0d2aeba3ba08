// SPDX-License-Identifier: MIT
#include "auth/guard_memory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "auth/digest.h"
#include "auth/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::uint64_t kMagic = 0x3164727567666372;  // rcfgurd1, in memory
constexpr off_t kSize = sizeof(GuardWords);

Error unusable(const std::string& path, std::string_view cause) {
  return {ErrorKind::configuration, format("login_guard: file: {} {}", path, cause)};
}

/// Why a file that is open must not be used; empty where it may be.
std::string refusal_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is no regular file";
  if (auto why = distrust(status, {.of_root = false, .of_nobody = S_IRWXG | S_IRWXO})) return *std::move(why);
  if (status.st_nlink != 1) return "has another name, too: it is a hard link";
  if (status.st_size != 0 && status.st_size != kSize) {
    return format("has {} bytes, and is no table of failed logins of this version", status.st_size);
  }
  return {};
}

Result<void> prepare(GuardWords& words) {
  if (words.magic == kMagic) return {};
  for (GuardWords::Word& half : words.hash_key) {
    std::array<char, sizeof(std::uint64_t)> random{};
    if (auto drawn = fill_random(random); !drawn) return drawn;
    std::uint64_t value = 0;
    std::memcpy(&value, random.data(), sizeof value);
    half = value;
  }
  words.magic = kMagic;
  return {};
}

}  // namespace

void GuardMemory::Unmap::operator()(GuardWords* words) const noexcept {
  ::munmap(words, sizeof *words);
}

Result<GuardMemory> GuardMemory::map(int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const address = ::mmap(nullptr, sizeof(GuardWords), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) {
    return Error{ErrorKind::internal, format("cannot be mapped: {}", errno_text())};
  }
  GuardMemory memory(static_cast<GuardWords*>(address));
  if (auto prepared = prepare(memory.words()); !prepared) return std::move(prepared).error();
  return memory;
}

Result<GuardMemory> GuardMemory::alone() {
  return map(-1);
}

Result<GuardMemory> GuardMemory::shared(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    return unusable(path, format("cannot be opened: {}", errno_text()));
  }
  if (const std::string cause = refusal_of(status); !cause.empty()) return unusable(path, cause);
  // Held while the table is made, so that nobody sees half of one; a process that is killed lets go of it.
  if (::flock(fd.get(), LOCK_EX) != 0) return unusable(path, format("cannot be locked: {}", errno_text()));
  // Memory that is not really there would end the process when it is first used.
  if (const int error = ::posix_fallocate(fd.get(), 0, kSize); error != 0) {
    return unusable(path, format("cannot be made: {}", std::generic_category().message(error)));
  }
  auto memory = map(fd.get());
  // The mapping keeps the file open, and would keep the lock with it.
  ::flock(fd.get(), LOCK_UN);
  if (!memory) return unusable(path, memory.error().message);
  return memory;
}

}  // namespace rest_fcgi::auth
