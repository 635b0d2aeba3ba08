// SPDX-License-Identifier: MIT
#include "auth/guard_table.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "rest_fcgi/auth/logins.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::uint64_t kMagic = 0x3464727567666372;  // rcfgurd4, in memory
constexpr off_t kSize = sizeof(GuardWords);
constexpr int kMostTries = 10;

Error unusable(const std::string& path, std::string_view cause) {
  return {ErrorKind::configuration, format("login_guard: file: {} {}", path, cause)};
}

/// Why a file that is open must not be used; empty where it may be.
std::string refusal_of(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is no regular file";
  if (auto why = distrust(status, {.of_root = false, .of_nobody = S_IRWXG | S_IRWXO})) return *std::move(why);
  if (status.st_nlink > 1) return "has another name, too: it is a hard link";
  return {};
}

enum class Content { table, other_version, something_else };

Content content_of(int fd, off_t size) {
  std::uint64_t magic = 0;
  const bool has_magic = ::pread(fd, &magic, sizeof magic, 0) == ssize_t{sizeof magic};
  if (size == 0 || (size == kSize && (magic == kMagic || magic == 0))) return Content::table;
  const bool differs_in_version = has_magic && (magic ^ kMagic) << 8 == 0;  // in the last of eight bytes
  return differs_in_version ? Content::other_version : Content::something_else;
}

std::string no_table(off_t size) {
  return format("has {} bytes, and is no table of failed logins of this version", size);
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

using std::chrono::seconds;

constexpr unsigned kTimeBits = 24;  // half a year of seconds
constexpr std::uint64_t kTimes = std::uint64_t{1} << kTimeBits;
constexpr std::int64_t kSmallStep =
    60;  // seconds that a clock may be set back without anybody being forgiven

/// What one word says. An empty word is all zero, and no entry has zero failures.
struct Entry {
  std::uint64_t tag = 0;       // 27 bits of the key
  bool refused = false;        // reached its limit at `since`
  std::uint64_t since = 0;     // second of the first failure, or of the one that reached the limit
  std::uint64_t failures = 0;  // 12 bits

  static Entry of(std::uint64_t word) {
    return {word >> 37, (word >> 36 & 1) != 0, word >> 12 & (kTimes - 1), word & 4095};
  }
  [[nodiscard]] std::uint64_t word() const {
    return tag << 37 | std::uint64_t{refused} << 36 | since << 12 | failures;
  }
};

std::uint64_t tag_of(GuardTable::Key key) {
  return key >> 37;
}

std::uint64_t second_of(WallTime now) {
  const auto since_epoch = std::chrono::floor<seconds>(now).time_since_epoch().count();
  return static_cast<std::uint64_t>(since_epoch) & (kTimes - 1);
}

/// How much longer an entry counts; not above zero where its time is over, or where the clock was set so that
/// nothing can be said about it.
seconds remaining(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  auto age = static_cast<std::int64_t>((second_of(now) - entry.since) & (kTimes - 1));
  if (age > static_cast<std::int64_t>(kTimes) - kSmallStep) age = 0;
  return (entry.refused ? limit.refuse : limit.window) - seconds(age);
}

bool counts(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  return entry.failures > 0 && remaining(entry, limit, now) > seconds(0);
}

GuardTable::Count count_of(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  return {static_cast<unsigned>(entry.failures), entry.refused ? remaining(entry, limit, now) : seconds(0)};
}

/// How much would be lost with an entry.
auto worth(const Entry& entry, const GuardTable::Limit& limit, WallTime now) {
  const bool alive = counts(entry, limit, now);
  return std::tuple(alive, alive && entry.refused, alive ? entry.failures : 0, remaining(entry, limit, now));
}

Entry with_one_more(const Entry& before, GuardTable::Key key, const GuardTable::Limit& limit, WallTime now) {
  const bool known = before.tag == tag_of(key) && counts(before, limit, now);
  if (known && before.refused) return before;
  Entry after = known ? before : Entry{tag_of(key), false, second_of(now), 0};
  if (after.failures < GuardTable::kMostFailures) ++after.failures;
  if (after.failures >= limit.tries) {
    after.refused = true;
    after.since = second_of(now);
  }
  return after;
}

/// The bytes of an address, 4 or 16 of them; empty for a text that is none.
std::string address_of(std::string_view remote) {
  const std::string text(remote);
  std::string bytes(sizeof(in6_addr), '\0');
  if (::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return bytes.substr(0, sizeof(in_addr));
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return {};
  // What a dual-stack socket says of an IPv4 address, and what a NAT64 makes of one
  const std::string mapped = std::string(10, '\0') + "\xff\xff";
  const std::string translated = std::string("\0\x64\xff\x9b", 4) + std::string(8, '\0');
  const bool is_of_ipv4 = bytes.starts_with(mapped) || bytes.starts_with(translated);
  return is_of_ipv4 ? bytes.substr(bytes.size() - sizeof(in_addr)) : bytes;
}

}  // namespace

std::string network_of(std::string_view remote) {
  constexpr std::size_t kNetworkBytes = 8;
  std::string address = address_of(remote);
  if (address.empty()) return std::string(remote);
  address.resize(std::min(address.size(), kNetworkBytes));
  return address;
}

std::string site_of(std::string_view remote) {
  constexpr std::size_t kSiteBytes = 6;
  const std::string address = address_of(remote);
  return address.size() == sizeof(in6_addr) ? address.substr(0, kSiteBytes) : std::string();
}

std::string line_of(std::string_view remote) {
  std::string site = site_of(remote);
  return site.empty() ? network_of(remote) : site;
}

void GuardMemory::Unmap::operator()(GuardWords* words) const noexcept {
  ::munmap(words, sizeof *words);
}

Result<GuardMemory> GuardMemory::map(int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const address = ::mmap(nullptr, sizeof(GuardWords), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (address == MAP_FAILED) {
    return Error{ErrorKind::internal, format("cannot be mapped: {}", errno_text())};
  }
  Words words(static_cast<GuardWords*>(address));
  if (auto prepared = prepare(*words); !prepared) return std::move(prepared).error();
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  const std::array<std::uint64_t, 2> key{words->hash_key[0], words->hash_key[1]};
  const std::span bytes(reinterpret_cast<const char*>(key.data()), sizeof key);
  return GuardMemory(std::move(words), KeyedDigest(*std::move(sha256), bytes));
}

Result<GuardMemory> GuardMemory::alone() {
  return map(-1);
}

Result<std::uint64_t> GuardMemory::latest_in(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    return unusable(path, format("cannot be opened: {}", errno_text()));
  }
  if (const std::string cause = refusal_of(status); !cause.empty()) return unusable(path, cause);
  if (status.st_size == 0 || content_of(fd.get(), status.st_size) != Content::table) {
    return unusable(path, no_table(status.st_size));
  }
  std::uint64_t latest = 0;
  if (::pread(fd.get(), &latest, sizeof latest, offsetof(GuardWords, latest)) != ssize_t{sizeof latest}) {
    return unusable(path, format("cannot be read: {}", errno_text()));
  }
  return latest;
}

Result<GuardMemory> GuardMemory::shared(const std::string& path, Folder folder) {
  UniqueFd above;
  if (folder == Folder::own) {
    const std::string name = std::filesystem::path(path).parent_path().string();
    auto opened = open_private_folder(name);
    if (!opened) return unusable(name, opened.error().message);
    above = *std::move(opened);
  }
  const std::string in_it = std::filesystem::path(path).filename().string();
  return above.is_open() ? open_in(above.get(), in_it, path, folder) : open_in(AT_FDCWD, path, path, folder);
}

Result<GuardMemory> GuardMemory::open_in(int folder, const std::string& name, const std::string& path,
                                         Folder kind) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const UniqueFd fd(
        ::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    struct stat status {};
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
      return unusable(path, format("cannot be opened: {}", errno_text()));
    }
    if (const std::string cause = refusal_of(status); !cause.empty()) return unusable(path, cause);
    // Held while the table is made, so that nobody sees half of one; a process that is killed lets go of it.
    if (::flock(fd.get(), LOCK_EX) != 0 || ::fstat(fd.get(), &status) != 0) {
      return unusable(path, format("cannot be locked: {}", errno_text()));
    }
    if (status.st_nlink == 0) continue;  // another process has made a new one
    const Content content = content_of(fd.get(), status.st_size);
    if (content == Content::table) return map_locked(fd.get(), path);
    const std::string found = no_table(status.st_size);
    if (content == Content::something_else && kind == Folder::any) return unusable(path, found);
    log::warning(
        format("login_guard: file: {} {}: a new one takes its place, and counts begin at 0", path, found));
    // Cut to another size it would end the processes that have mapped it.
    if (::unlinkat(folder, name.c_str(), 0) != 0) {
      return unusable(path, format("cannot be replaced: {}", errno_text()));
    }
  }
  return unusable(path, "is replaced by other processes again and again");
}

Result<GuardMemory> GuardMemory::map_locked(int fd, const std::string& path) {
  // Memory that is not really there would end the process when it is first used.
  if (const int error = ::posix_fallocate(fd, 0, kSize); error != 0) {
    return unusable(path, format("cannot be made: {}", errno_text(error)));
  }
  auto memory = map(fd);
  // The mapping keeps the file open, and would keep the lock with it.
  ::flock(fd, LOCK_UN);
  if (!memory) return unusable(path, memory.error().message);
  return memory;
}

std::span<GuardWords::Word> GuardTable::ways_of(Key key) const {
  const std::size_t sets = words_.size() / kWays;
  return words_.subspan(key % sets * kWays, kWays);
}

GuardTable::Count GuardTable::find(Key key, const Limit& limit, WallTime now) const {
  for (const GuardWords::Word& word : ways_of(key)) {
    const Entry entry = Entry::of(word.load());
    if (entry.tag == tag_of(key) && counts(entry, limit, now)) return count_of(entry, limit, now);
  }
  return {};
}

GuardTable::Count GuardTable::add(Key key, const Limit& limit, WallTime now) {
  const auto ways = ways_of(key);
  for (;;) {
    // The place for a new entry is looked at first: another thread that makes the same one meanwhile is found
    // by the search, or has changed this word.
    auto place = std::min_element(ways.begin(), ways.end(), [&](const auto& a, const auto& b) {
      return worth(Entry::of(a.load()), limit, now) < worth(Entry::of(b.load()), limit, now);
    });
    std::uint64_t before = place->load();
    const auto known = std::find_if(ways.begin(), ways.end(), [&](const GuardWords::Word& word) {
      const Entry entry = Entry::of(word.load());
      return entry.failures > 0 && entry.tag == tag_of(key);
    });
    if (known != ways.end()) {
      place = known;
      before = place->load();
    }
    const Entry after = with_one_more(Entry::of(before), key, limit, now);
    if (place->compare_exchange_strong(before, after.word())) return count_of(after, limit, now);
  }
}

void GuardTable::forget(Key key) {
  for (GuardWords::Word& word : ways_of(key)) {
    std::uint64_t before = word.load();
    if (Entry::of(before).tag == tag_of(key)) word.compare_exchange_strong(before, 0);
  }
}

}  // namespace rest_fcgi::auth
