// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/proc_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/lowstate/jid.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::size_t kMaxEntries = 20'000;
constexpr std::size_t kMaxFileSize = 64 * 1024 * 1024;
constexpr std::string_view kStop = ".stop.";
constexpr const char* kUnknownStart = "unknown";  // no process has this one

std::string cause() {
  return std::strerror(errno);
}

Error unusable(const std::string& path, std::string_view what) {
  return {ErrorKind::configuration, format("embedded: proc_dir: {} {}", path, what)};
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string file_name(std::string_view jid, pid_t pid) {
  return format("{}.{}", jid, pid);
}

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

}  // namespace

/// What a name in the directory says: `JID.PID`, a mark `JID.PID.stop.CALL`, and with a dot in front one
/// that is being written.
struct ProcDir::Name {
  std::string_view jid;
  pid_t pid = 0;
  std::optional<std::size_t> stop;
  bool unfinished = false;
};

std::optional<ProcDir::Name> ProcDir::parse_name(std::string_view text) {
  Name name;
  name.unfinished = text.starts_with('.');
  if (name.unfinished) text.remove_prefix(1);
  name.jid = text.substr(0, text.find('.'));
  if (!lowstate::is_jid(name.jid) || text.size() <= name.jid.size() + 1) return std::nullopt;
  text.remove_prefix(name.jid.size() + 1);
  const std::size_t stop = text.find(kStop);
  const auto pid = number_in<pid_t>(text.substr(0, stop));
  if (!pid) return std::nullopt;
  name.pid = *pid;
  if (stop == std::string_view::npos) return name;
  name.stop = number_in<std::size_t>(text.substr(stop + kStop.size()));
  if (!name.stop) return std::nullopt;
  return name;
}

Result<std::unique_ptr<ProcDir>> ProcDir::open(const std::string& path) {
  std::error_code ignored;
  std::filesystem::create_directory(std::filesystem::path(path).parent_path(), ignored);
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST) {
    return unusable(path, format("cannot be made: {}", cause()));
  }
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status = {};
  if (!directory.is_open() || ::fstat(directory.get(), &status) != 0) {
    return unusable(path, format("cannot be opened: {}", cause()));
  }
  if (const auto why = distrust(status, {.of_root = false})) return unusable(path, *why);
  return std::unique_ptr<ProcDir>(new ProcDir(std::move(directory)));
}

ProcDir::ProcDir(UniqueFd directory) : directory_(std::move(directory)), self_(ProcessId::self()) {
  // An earlier process may have had our pid.
  for (const std::string& text : names()) {
    const std::optional<Name> name = parse_name(text);
    if (name && name->pid == self_.pid && (name->unfinished || name->stop)) unlink(text);
  }
}

std::string ProcDir::own_name(std::string_view jid) const {
  return file_name(jid, self_.pid);
}

void ProcDir::unlink(const std::string& name) const {
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

Result<void> ProcDir::write(const std::string& name, std::string_view text) {
  const std::string unfinished = "." + name;
  const UniqueFd file(::openat(directory_.get(), unfinished.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const bool written = file.is_open() && write_all(file.get(), text) &&
                       ::renameat(directory_.get(), unfinished.c_str(), directory_.get(), name.c_str()) == 0;
  if (written) return {};
  const Error error{ErrorKind::internal, cause()};
  unlink(unfinished);
  return error;
}

Result<void> ProcDir::add(const returner::Load& load, std::string_view ret) {
  const Json text = to_json({self_, load, std::string(ret)});
  if (text.text().size() > kMaxFileSize) {
    return Error{ErrorKind::internal,
                 format("its load has {} bytes, more than {}", text.text().size(), kMaxFileSize)};
  }
  {
    const std::lock_guard lock(mutex_);
    own_.insert(load.jid);
  }
  return write(own_name(load.jid), text.text());
}

void ProcDir::remove(const std::string& jid) {
  unlink(own_name(jid));
  const std::lock_guard lock(mutex_);
  own_.erase(jid);
}

std::vector<std::string> ProcDir::names() const {
  std::vector<std::string> names;
  // A stream of its own: a shared one has one position for all threads.
  UniqueFd fd(::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, CloseDirectory> stream(fd.is_open() ? ::fdopendir(fd.get()) : nullptr);
  if (!stream) return names;
  (void)fd.release();  // the stream closes it
  while (const dirent* entry = ::readdir(stream.get())) {
    if (names.size() == kMaxEntries) break;
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<ProcEntry> ProcDir::read(const std::string& name) const {
  const UniqueFd file(
      ::openat(directory_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text(std::min(static_cast<std::size_t>(status.st_size), kMaxFileSize), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  std::optional<ProcEntry> entry = proc_entry_from(text);
  // What is not whole survived a crash of the host: processes rename what they wrote to its end.
  if (!entry) entry.emplace().process.started = kUnknownStart;
  return entry;
}

std::vector<ProcEntry> ProcDir::others() const {
  std::vector<ProcEntry> entries;
  for (const std::string& text : names()) {
    const std::optional<Name> name = parse_name(text);
    if (!name || is_own(*name)) continue;
    if (name->unfinished || name->stop) {
      if (!ProcessId{name->pid, ""}.runs()) unlink(text);
      continue;
    }
    std::optional<ProcEntry> entry = read(text);
    if (!entry) continue;  // it has gone meanwhile
    entry->process.pid = name->pid;
    entry->load.jid = name->jid;
    entries.push_back(*std::move(entry));
  }
  return entries;
}

bool ProcDir::is_own(const Name& name) const {
  if (name.pid != self_.pid) return false;
  if (name.unfinished || name.stop) return true;
  const std::lock_guard lock(mutex_);
  return own_.contains(name.jid);
}

bool ProcDir::has(const ProcEntry& entry) const {
  const std::string name = file_name(entry.load.jid, entry.process.pid);
  return ::faccessat(directory_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void ProcDir::drop(const ProcEntry& entry) {
  const std::string file = file_name(entry.load.jid, entry.process.pid);
  for (const std::string& name : names()) {
    if (name.starts_with(file + ".")) unlink(name);
  }
  unlink(file);
}

Result<void> ProcDir::mark(const ProcEntry& entry, std::size_t call) {
  const std::string name = format("{}{}{}", file_name(entry.load.jid, entry.process.pid), kStop, call);
  const UniqueFd file(::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  if (file.is_open()) return {};
  return Error{ErrorKind::internal, cause()};
}

std::vector<ProcDir::Mark> ProcDir::take_marks() {
  std::vector<Mark> marks;
  for (const std::string& text : names()) {
    const std::optional<Name> name = parse_name(text);
    if (!name || name->pid != self_.pid || !name->stop) continue;
    marks.push_back({std::string(name->jid), *name->stop});
    unlink(text);
  }
  return marks;
}

}  // namespace rest_fcgi::embedded
