// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/logged_out.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include "auth/digest.h"
#include "auth/never_back.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::auth {
namespace {

/// What of a token's SHA-256 tells it from others. Of a user whose tokens were ended: 8 bytes of theirs, and
/// the Unix second of the end.
using Hash = std::array<char, 12>;
constexpr std::size_t kUserHash = 8;
constexpr std::chrono::hours kUserFor{400 * 24};

/// One place of the table, as it stands in the file.
struct Slot {
  Hash hash;
  std::uint32_t expire;  ///< Unix seconds after which it is free; 0: it never was used
};

/// The places that a token may be in. So many that of 2^20 tokens hardly any meets 63 others.
constexpr std::size_t kWays = 64;
constexpr std::size_t kBuckets = std::size_t{1} << 15;
using Bucket = std::array<Slot, kWays>;
static_assert(sizeof(Slot) == 16 && sizeof(Bucket) == 1024);

constexpr off_t kTableSize = off_t{kBuckets} * off_t{sizeof(Bucket)};

constexpr const char* kCannotBeRead = "Which tokens were logged out cannot be read; the log has the cause.";

/// Rounded up, so that nothing is forgotten too early.
std::uint32_t slot_time(WallTime time) {
  const auto since_epoch = std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count();
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(since_epoch, 0, std::numeric_limits<std::uint32_t>::max()));
}

/// Where a token's slot is looked for, or a user's, and by what.
struct Place {
  Hash hash;
  off_t bucket;  ///< its offset in the file
  bool is_user = false;
};

class LogoutTable final : public LoggedOut {
 public:
  LogoutTable(UniqueFd file, DigestAlgorithm sha256, const Clock& clock)
      : file_(std::move(file)), sha256_(std::move(sha256)), clock_(clock) {}

  Result<bool> has(SecretView token) const override {
    const Place place = place_of({token.reveal()});
    Bucket bucket;
    if (!read(place, bucket)) return Error{ErrorKind::internal, kCannotBeRead};
    const std::uint32_t now = slot_time(clock_.wall());
    return std::any_of(bucket.begin(), bucket.end(),
                       [&](const Slot& slot) { return slot.expire > now && slot.hash == place.hash; });
  }

  Result<void> add(SecretView token, WallTime expire) override {
    return add(place_of({token.reveal()}), expire);
  }

  Result<bool> has_ended(std::string_view eauth, std::string_view name, WallTime start) override {
    for (const std::string_view of : {eauth, std::string_view()}) {
      const Place place = place_of_user(of, name);
      Bucket bucket;
      if (!read(place, bucket)) return Error{ErrorKind::internal, kCannotBeRead};
      const WallTime now = clock_.wall();
      for (const Slot& slot : bucket) {
        if (!is_of(slot, place) || slot.expire <= slot_time(now)) continue;
        if (is_ahead(end_in(slot.hash), now)) {
          auto corrected = end_all(of, name, now);
          if (!corrected) return std::move(corrected).error();
          return true;
        }
        if (start <= end_in(slot.hash) || is_ahead(start, now)) return true;
      }
    }
    return false;
  }

  Result<void> end_all(std::string_view eauth, std::string_view name, WallTime until) override {
    Place place = place_of_user(eauth, name);
    const std::uint32_t second = slot_time(until);
    std::memcpy(place.hash.data() + kUserHash, &second, sizeof second);
    return add(place, clock_.wall() + kUserFor);
  }

 private:
  /// The same token, or an end of the same user's.
  static bool is_of(const Slot& slot, const Place& place) {
    return std::memcmp(slot.hash.data(), place.hash.data(), place.is_user ? kUserHash : sizeof(Hash)) == 0;
  }

  static bool is_ahead(WallTime time, WallTime now) { return time > now + NeverBack::kMostBack; }

  static WallTime end_in(const Hash& of_user) {
    std::uint32_t second;
    std::memcpy(&second, of_user.data() + kUserHash, sizeof second);
    return WallTime(std::chrono::seconds(second));
  }

  /// On the disk when it returns.
  Result<void> add(const Place& place, WallTime expire) {
    const std::lock_guard lock(mutex_);
    if (::flock(file_.get(), LOCK_EX) != 0) return failure("locked");
    Result<void> added = write(place, slot_time(expire));
    ::flock(file_.get(), LOCK_UN);
    if (added && ::fdatasync(file_.get()) != 0) return failure("written");
    return added;
  }

  [[nodiscard]] Place place_of_user(std::string_view eauth, std::string_view name) const {
    Place place = place_of({"user", std::string_view("\0", 1), eauth, std::string_view("\0", 1), name});
    place.is_user = true;
    return place;
  }

  [[nodiscard]] Place place_of(std::initializer_list<std::string_view> parts) const {
    const DigestBytes digest = sha256_.of(parts);
    Place place;
    std::uint32_t number;
    std::memcpy(place.hash.data(), digest.view().data(), place.hash.size());
    std::memcpy(&number, digest.view().data() + place.hash.size(), sizeof number);
    place.bucket = static_cast<off_t>(number % kBuckets * sizeof(Bucket));
    return place;
  }

  /// A slot that another process writes meanwhile may come half written: it is of a token whose logout has
  /// not come to its end, or it was free.
  [[nodiscard]] bool read(const Place& place, Bucket& bucket) const {
    const ssize_t count = ::pread(file_.get(), bucket.data(), sizeof bucket, place.bucket);
    if (count == static_cast<ssize_t>(sizeof bucket)) return true;
    log::error(format("logged-out tokens cannot be read: {}", count < 0 ? errno_text() : "the file is cut"));
    return false;
  }

  /// With the locks held: one writer at a time, of all processes.
  Result<void> write(const Place& place, std::uint32_t expire) {
    Bucket bucket;
    if (!read(place, bucket)) return Error{ErrorKind::unavailable, kCannotBeRead};
    const WallTime wall = clock_.wall();
    const std::uint32_t now = slot_time(wall);
    // A user has one end alone, also where a clock that is ahead by mistake shows it as over.
    auto slot = std::find_if(bucket.begin(), bucket.end(), [&](const Slot& one) {
      return is_of(one, place) && (place.is_user || one.expire > now);
    });
    const bool is_there = slot != bucket.end();
    if (is_there && !place.is_user && slot->expire >= expire) return {};
    if (!is_there) {
      // The one that is over longest: what a clock that is ahead by mistake shows as over is not lost.
      slot = std::min_element(bucket.begin(), bucket.end(),
                              [](const Slot& a, const Slot& b) { return a.expire < b.expire; });
      if (slot->expire > now) {
        return Error{ErrorKind::unavailable,
                     "Too many tokens were logged out: no more can be remembered now, and this one is good "
                     "until it expires."};
      }
    }
    Slot written{place.hash, expire};
    // An end that a clock somewhat ahead wrote stays: it ended tokens of that time.
    const bool was_later = is_there && place.is_user && end_in(slot->hash) > end_in(place.hash) &&
                           !is_ahead(end_in(slot->hash), wall);
    if (was_later) written.hash = slot->hash;
    const off_t offset = place.bucket + (slot - bucket.begin()) * off_t{sizeof(Slot)};
    return ::pwrite(file_.get(), &written, sizeof written, offset) == ssize_t{sizeof written}
               ? Result<void>()
               : failure("written");
  }

  static Error failure(std::string_view what) {
    log::error(format("logged-out tokens cannot be {}: {}", what, errno_text()));
    return {ErrorKind::unavailable, "The logout cannot be remembered; the log has the cause."};
  }

  // constant after construction
  const UniqueFd file_;
  const DigestAlgorithm sha256_;
  const Clock& clock_;
  std::mutex mutex_;  // `flock` does not keep threads of one process apart
};

Error unusable_file(const std::string& path, std::string_view why) {
  return {ErrorKind::configuration, format("logged_out_file: {} {}", path, why)};
}

/// The table's file, with all its places.
Result<UniqueFd> open_logout_file(const std::string& path) {
  const std::filesystem::path whole(path);
  const auto folder = open_private_folder(whole.parent_path().string());
  if (!folder) return unusable_file(whole.parent_path().string(), folder.error().message);
  UniqueFd file(::openat(folder->get(), whole.filename().c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status {};
  if (!file.is_open() || ::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &status) != 0) {
    return unusable_file(path, format("cannot be opened: {}", errno_text()));
  }
  if (!S_ISREG(status.st_mode)) return unusable_file(path, "is no regular file");
  if (const auto why = distrust(status)) return unusable_file(path, *why);
  if (status.st_size != 0 && status.st_size != kTableSize) {
    return unusable_file(
        path, format("has {} bytes; a table of logged-out tokens has {}", status.st_size, kTableSize));
  }
  // Of a new file the name, too, has to be there after a power cut.
  const bool is_new = status.st_size == 0;
  if (::ftruncate(file.get(), kTableSize) != 0 || (is_new && ::fsync(folder->get()) != 0)) {
    return unusable_file(path, format("cannot be made: {}", errno_text()));
  }
  ::flock(file.get(), LOCK_UN);
  return file;
}

Result<UniqueFd> logout_memory() {
  UniqueFd file(::memfd_create("logged_out", MFD_CLOEXEC));
  if (file.is_open() && ::ftruncate(file.get(), kTableSize) == 0) return file;
  return Error{ErrorKind::internal, format("no memory for logged-out tokens: {}", errno_text())};
}

}  // namespace

Result<std::shared_ptr<LoggedOut>> LoggedOut::make(const LoggedOutOptions& options, const Clock& clock) {
  auto file = options.file.empty() ? logout_memory() : open_logout_file(options.file);
  if (!file && options.file_is_default) {
    log::warning(format("{}; tokens that are logged out are remembered by this process alone, until it ends",
                        file.error().message));
    file = logout_memory();
  }
  if (!file) return std::move(file).error();
  auto sha256 = DigestAlgorithm::fetch("SHA256");
  if (!sha256) return std::move(sha256).error();
  return std::shared_ptr<LoggedOut>(
      std::make_shared<LogoutTable>(*std::move(file), *std::move(sha256), clock));
}

}  // namespace rest_fcgi::auth
