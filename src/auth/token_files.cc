// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "auth/token_store.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kMaxTokenFile = std::size_t{64} << 10;
constexpr std::string_view kTemporary = ".tmp";
constexpr std::chrono::minutes kStale{1};   // whoever wrote a temporary file so long ago is gone
constexpr std::size_t kPurgedAtOnce = 100;  // names: some milliseconds
constexpr std::size_t kMostKnown = 1000;    // files whose data is kept in mind
constexpr std::size_t kMaxKnownData = 1024;

bool is_token_file(std::string_view name) {
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_temporary(std::string_view name) {
  return name.ends_with(kTemporary) && is_token_file(name.substr(0, name.size() - kTemporary.size()));
}

/// A file's time of modification, for which whole seconds will do.
std::array<timespec, 2> file_times(WallTime time) {
  const timespec when{std::chrono::system_clock::to_time_t(time), 0};
  return {when, when};
}

/// A file for each token, named after its digits. Its time of modification is when it may go, so that it need
/// not be read to know that; files of an older version, which have another time, are read once. A Salt
/// master may keep its own in the same directory. What was read is kept in mind for as long as the file has
/// not changed, which is looked at each time.
class TokenFiles final : public TokenShelf {
 public:
  explicit TokenFiles(UniqueFd directory) : directory_(std::move(directory)) {}

  Result<std::optional<std::string>> get(const std::string& digits) override {
    const std::string stamp = stamp_of(digits);
    if (auto known = recall(digits, stamp)) return known;
    auto data = read(digits);
    if (data && *data) remember(digits, stamp, **data);
    return data;
  }

  /// What is put there is whole at once, and outlives a power cut.
  Result<void> put(const std::string& digits, const std::string& data, std::chrono::seconds /*life*/,
                   WallTime end) override {
    const std::string temporary = digits + std::string(kTemporary);
    const UniqueFd fd(::openat(directory_.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.is_open()) return failed("its file cannot be created");
    auto written = write_all(fd.get(), data);
    if (written && ::futimens(fd.get(), file_times(end).data()) == 0 && ::fsync(fd.get()) == 0 &&
        ::renameat(directory_.get(), temporary.c_str(), directory_.get(), digits.c_str()) == 0) {
      return sync_names();
    }
    Error error = written ? failed("its file cannot be stored")
                          : Error{written.error().kind, format("its file {}", written.error().message)};
    drop(temporary);
    return error;
  }

  Result<void> remove(const std::string& digits) override {
    if (::unlinkat(directory_.get(), digits.c_str(), 0) == 0) return sync_names();
    if (errno == ENOENT) return {};
    return failed(format("its file {} cannot be removed", digits));
  }

  Result<void> each(const Visit& visit) override {
    const Listing listing = list_folder(directory_.get());
    if (!listing) return failed("token_dir cannot be listed");
    while (const dirent* const found = ::readdir(listing.get())) {
      const std::string name = found->d_name;
      if (!is_token_file(name)) continue;
      const auto data = read(name);
      if (!data && data.error().kind == ErrorKind::unavailable) return data.error();
      if (!data || !*data) continue;  // nobody takes it for a token's either
      if (auto seen = visit(name, **data); !seen) return seen;
    }
    return {};
  }

  /// Goes on where the last call stopped: a login, which waits for it, is not to pay for all tokens that
  /// there are.
  bool purge(WallTime now, const EndOf& end_of) override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (!listing_) listing_ = list_folder(directory_.get());
    if (!listing_) {
      log::warning(format("token_dir: expired tokens stay, as it cannot be listed: {}", errno_text()));
      return false;
    }
    for (std::size_t names = 0; names < kPurgedAtOnce; ++names) {
      const dirent* const found = ::readdir(listing_.get());
      if (found == nullptr) {
        listing_.reset();
        return false;
      }
      purge_one(found->d_name, now, end_of);
    }
    return true;
  }

 private:
  struct Known {
    std::string stamp;
    std::string data;
  };

  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& digits) const {
    const auto bytes = read_regular_file(directory_.get(), digits, Links::refuse, kMaxTokenFile);
    if (bytes) return std::optional<std::string>(std::in_place, bytes->begin(), bytes->end());
    if (bytes.error().kind == ErrorKind::not_found) return std::optional<std::string>();
    return Error{bytes.error().kind, format("its file {} {}", digits, bytes.error().message)};
  }

  /// Empty also where there is none.
  [[nodiscard]] std::string stamp_of(const std::string& digits) const {
    struct stat status {};
    if (::fstatat(directory_.get(), digits.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
    return file_stamp(status);
  }

  [[nodiscard]] std::optional<std::string> recall(const std::string& digits, std::string_view stamp) {
    if (stamp.empty()) return std::nullopt;
    const std::lock_guard lock(known_mutex_);
    const auto found = known_.find(digits);
    if (found == known_.end() || found->second.stamp != stamp) return std::nullopt;
    return found->second.data;
  }

  /// REQUIRES: the stamp was taken before the data was read.
  void remember(const std::string& digits, const std::string& stamp, const std::string& data) {
    if (stamp.empty() || data.size() > kMaxKnownData) return;
    const std::lock_guard lock(known_mutex_);
    if (known_.size() >= kMostKnown) known_.clear();
    known_.insert_or_assign(digits, Known{stamp, data});
  }

  static Error failed(std::string_view what) {
    const int error = errno;
    return {errno_kind(error), format("{}: {}", what, errno_text(error))};
  }

  /// Without it a power cut takes back what was put there or removed.
  [[nodiscard]] Result<void> sync_names() const {
    if (::fsync(directory_.get()) == 0) return {};
    return failed("its name is not on the disk");
  }

  /// Where it does not matter whether it comes back.
  void drop(const std::string& name) const { ::unlinkat(directory_.get(), name.c_str(), 0); }

  void purge_one(const std::string& name, WallTime now, const EndOf& end_of) {
    const bool temporary = is_temporary(name);
    if (!temporary && !is_token_file(name)) return;
    struct stat status {};
    if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
    const WallTime time{std::chrono::seconds(status.st_mtim.tv_sec)};
    if (temporary) {
      if (time + kStale <= now) drop(name);
      return;
    }
    if (time > now) return;
    const auto data = read(name);
    const std::optional<WallTime> end = data && *data ? end_of(**data) : std::nullopt;
    if (!end) return;
    if (*end <= now) {
      drop(name);
    } else {
      ::utimensat(directory_.get(), name.c_str(), file_times(*end).data(), AT_SYMLINK_NOFOLLOW);
    }
  }

  const UniqueFd directory_;
  std::mutex mutex_;
  Listing listing_;  // of a purge that is not through; guarded by mutex_
  std::mutex known_mutex_;
  std::unordered_map<std::string, Known> known_;  // by digits; guarded by known_mutex_
};

}  // namespace

Result<std::unique_ptr<TokenShelf>> token_files(const std::string& directory) {
  auto opened = open_private_folder(directory);
  if (!opened) {
    return Error{ErrorKind::configuration, format("token_dir: {} {}", directory, opened.error().message)};
  }
  return std::unique_ptr<TokenShelf>(std::make_unique<TokenFiles>(*std::move(opened)));
}

}  // namespace rest_fcgi::auth
