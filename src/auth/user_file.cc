// SPDX-License-Identifier: MIT
#include "auth/user_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <utility>

#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::auth {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;
constexpr std::size_t kMaxKinds = 16;
constexpr milliseconds kShortestStep{5};
constexpr milliseconds kLongestStep{1000};

std::optional<std::string_view> field(std::string_view line, std::string_view separator, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t end = line.find(separator);
    if (end == std::string_view::npos) return std::nullopt;
    line.remove_prefix(end + separator.size());
  }
  return line.substr(0, line.find(separator));
}

/// Method and cost of a stored password, as far as crypt(5) shows them before the salt.
std::string_view kind_of(std::string_view stored) {
  if (!stored.starts_with('$')) return stored.substr(0, stored.starts_with('{') ? stored.find('}') : 0);
  const std::size_t method = stored.find('$', 1);
  if (method == std::string_view::npos) return stored;
  const std::string_view name = stored.substr(1, method - 1);
  const std::string_view next = stored.substr(method + 1);
  const bool has_plain_salt = name == "1" || name == "5" || name == "6" || name == "apr1";
  if (has_plain_salt && !next.starts_with("rounds=")) return stored.substr(0, method);
  return stored.substr(0, stored.find('$', method + 1));
}

/// The file and what tells it from others.
struct Opened {
  UniqueFd fd;
  std::string stamp;
};

Result<Opened> open_trusted(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) {
    const ErrorKind kind = errno == ENOENT ? ErrorKind::not_found : errno_kind();
    return Error{kind, format("cannot be opened: {}", why_unreadable(path))};
  }
  if (!S_ISREG(status.st_mode)) return Error{ErrorKind::internal, "is no regular file"};
  if (auto why = why_untrusted(status)) return Error{ErrorKind::configuration, *std::move(why)};
  return Opened{std::move(fd), file_stamp(status)};
}

}  // namespace

std::optional<FieldLayout::Entry> FieldLayout::read(std::string_view line) const {
  line = stripped(line);
  if (comments && line.starts_with('#')) return std::nullopt;
  if (!realm.empty() && field(line, separator, 1) != realm) return std::nullopt;
  const auto name = field(line, separator, username);
  const auto stored = field(line, separator, password);
  if (!name || !stored) return std::nullopt;
  return Entry{*name, *stored};
}

Users::Users(WipedBytes bytes, const FieldLayout& layout, const KeyedDigest& digest)
    : bytes_(std::move(bytes)), digest_(digest) {
  std::string_view left(bytes_.data(), bytes_.size());
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size() - 1);
    const auto entry = layout.read(left.substr(0, end + 1));
    left.remove_prefix(end + 1);
    if (!entry) continue;
    entries_.push_back(*entry);
    if (!entry->stored.empty()) stored_.push_back(entry->stored);
  }
}

/// Always looks at all entries.
Users::Found Users::find(std::string_view username) const {
  Found found;
  if (!stored_.empty()) found.stored = stored_[DigestHash()(digest_.of(username)) % stored_.size()];
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->username == username) found = {entry->stored, true};
  }
  return found;
}

steady_clock::duration Users::failure_step(const Hash& hash) const {
  std::call_once(measured_, [&] {
    std::set<std::string_view> kinds;
    steady_clock::duration slowest{0};
    for (const std::string_view stored : stored_) {
      if (kinds.size() == kMaxKinds || !kinds.insert(kind_of(stored)).second) continue;
      const auto begun = steady_clock::now();
      hash(stored);
      slowest = std::max(slowest, steady_clock::now() - begun);
    }
    step_ = std::clamp<steady_clock::duration>(2 * slowest, kShortestStep, kLongestStep);
  });
  return step_;
}

Result<std::shared_ptr<UserFile>> UserFile::make(std::string path, FieldLayout layout) {
  auto digest = KeyedDigest::make();
  if (!digest) return std::move(digest).error();
  return std::make_shared<UserFile>(std::move(path), std::move(layout), *std::move(digest));
}

std::string UserFile::stamp() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return "gone";
  std::string stamp = file_stamp(status);
  if (!stamp.empty()) return stamp;
  static std::atomic<std::uint64_t> number = 0;
  return format("changed just now {}", ++number);
}

Result<std::shared_ptr<const Users>> UserFile::users() {
  const std::lock_guard lock(mutex_);
  if (users_ != nullptr && stamp() == stamp_) return users_;
  users_.reset();
  auto opened = open_trusted(path_);
  if (!opened) return std::move(opened).error();
  auto bytes = read_to_end(opened->fd.get(), kMaxFileSize);
  if (!bytes) return std::move(bytes).error();
  auto users = std::make_shared<const Users>(*std::move(bytes), layout_, digest_);
  if (!opened->stamp.empty()) {
    users_ = users;
    stamp_ = std::move(opened->stamp);
  }
  return std::shared_ptr<const Users>(users);
}

}  // namespace rest_fcgi::auth
