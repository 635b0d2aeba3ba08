// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "auth/files.h"
#include "auth/token_store.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kDigits = 64;
constexpr std::size_t kMaxTokenFile = std::size_t{64} << 10;

bool is_token_file(std::string_view name) {
  return name.size() == kDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// A file for each token, named after its digits. A Salt master may keep its own in the same directory.
class TokenFiles final : public TokenShelf {
 public:
  explicit TokenFiles(UniqueFd directory) : directory_(std::move(directory)) {}

  Result<std::optional<std::string>> get(const std::string& digits) override {
    const auto bytes = read_regular_file(directory_.get(), digits, Links::refuse, kMaxTokenFile);
    if (bytes) return std::optional<std::string>(std::in_place, bytes->begin(), bytes->end());
    if (bytes.error().kind == ErrorKind::not_found) return std::optional<std::string>();
    return Error{ErrorKind::internal, format("its file {} {}", digits, bytes.error().message)};
  }

  /// What is put there is whole at once.
  Result<void> put(const std::string& digits, const std::string& data,
                   std::chrono::seconds /*life*/) override {
    const std::string temporary = digits + ".tmp";
    const UniqueFd fd(::openat(directory_.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.is_open()) {
      return Error{ErrorKind::internal, format("its file cannot be created: {}", errno_text())};
    }
    auto written = write_all(fd.get(), data);
    if (written && ::fsync(fd.get()) == 0 &&
        ::renameat(directory_.get(), temporary.c_str(), directory_.get(), digits.c_str()) == 0) {
      return {};
    }
    const std::string cause =
        written ? format("cannot be stored: {}", errno_text()) : written.error().message;
    static_cast<void>(remove(temporary));
    return Error{ErrorKind::internal, format("its file {}", cause)};
  }

  Result<void> remove(const std::string& digits) override {
    if (::unlinkat(directory_.get(), digits.c_str(), 0) == 0 || errno == ENOENT) return {};
    return Error{ErrorKind::internal, format("its file {} cannot be removed: {}", digits, errno_text())};
  }

  void purge(const std::function<bool(std::string_view data)>& is_over) override {
    struct Close {
      void operator()(DIR* stream) const { ::closedir(stream); }
    };
    UniqueFd copy(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, Close> stream(copy.is_open() ? ::fdopendir(copy.get()) : nullptr);
    if (!stream) {
      return log::warning(format("token_dir: expired tokens stay, as it cannot be listed: {}", errno_text()));
    }
    static_cast<void>(copy.release());
    while (const dirent* found = ::readdir(stream.get())) {
      const std::string name = found->d_name;
      if (!is_token_file(name)) continue;
      const auto data = get(name);
      if (data && *data && is_over(**data)) static_cast<void>(remove(name));
    }
  }

 private:
  const UniqueFd directory_;
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
