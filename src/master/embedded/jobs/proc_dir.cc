// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/proc_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>

#include "master/embedded/text.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/jid.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::size_t kMaxEntries = 20'000;
constexpr std::size_t kMaxFileSize = 64 * 1024 * 1024;
constexpr std::string_view kLock = ".lock";

Error internal_error() {
  return {ErrorKind::internal, errno_text()};
}

/// What the name of a file in the directory says. An owner is the `PID-NUMBER` of a process.
struct ProcName {
  enum class Kind {
    job,         ///< `JID.OWNER`
    unfinished,  ///< `.JID.OWNER`: being written
    mark,        ///< `JID.OWNER.CALL`
    lock,        ///< `OWNER.lock`
  };
  Kind kind = Kind::job;
  std::string_view jid;
  std::string owner;
  pid_t pid = 0;
  std::size_t call = 0;
};

/// Absent for what no ProcDir made.
std::optional<ProcName> parse_name(std::string_view text) {
  ProcName name;
  if (text.ends_with(kLock)) {
    name.kind = ProcName::Kind::lock;
    text.remove_suffix(kLock.size());
  } else {
    if (text.starts_with('.')) name.kind = ProcName::Kind::unfinished;
    text.remove_prefix(name.kind == ProcName::Kind::unfinished ? 1 : 0);
    name.jid = take_part(text, '.');
    if (!lowstate::is_jid(name.jid)) return std::nullopt;
  }
  name.owner = take_part(text, '.');
  const std::size_t hyphen = name.owner.find('-');
  const auto pid = number_in<pid_t>(std::string_view(name.owner).substr(0, hyphen));
  if (!pid || hyphen == std::string::npos) return std::nullopt;
  name.pid = *pid;
  if (text.empty()) return name;
  const auto call = number_in<std::size_t>(text);
  if (!call || name.kind != ProcName::Kind::job) return std::nullopt;
  name.kind = ProcName::Kind::mark;
  name.call = *call;
  return name;
}

Json text_of(const returner::Load& load, std::string_view ret) {
  return written_object([&](JsonWriter& writer) {
    writer.key("jid").string(load.jid).key("fun").json(load.fun).key("arg").json(load.arg);
    writer.key("tgt").json(load.tgt).key("tgt_type").string(load.tgt_type).key("user").string(load.user);
    if (load.metadata) writer.key("metadata").json(*load.metadata);
    write_strings(writer.key("ret").string(ret).key("minions"), load.minions);
  });
}

/// What such a text says; of one that is not whole, nothing.
ActiveJob job_in(std::string_view text) {
  JsonDocument document;
  ActiveJob job;
  if (!document.parse(text, JsonLimits::none())) return job;
  const JsonValue kept = document.root();
  job.load.fun = member_of(kept, "fun").json();
  job.load.arg = member_of(kept, "arg").json();
  job.load.tgt = member_of(kept, "tgt").json();
  job.load.tgt_type = member_of(kept, "tgt_type").text();
  job.load.user = member_of(kept, "user").text();
  if (const auto metadata = kept.find("metadata")) job.load.metadata = metadata->json();
  job.ret = member_of(kept, "ret").text();
  for (const JsonValue minion : member_of(kept, "minions").elements()) {
    job.load.minions.emplace_back(minion.text());
  }
  return job;
}

}  // namespace

Result<std::unique_ptr<ProcDir>> ProcDir::open(const std::string& path) {
  const auto unusable = [&path](const Error& error) {
    return Error{ErrorKind::configuration, format("embedded: proc_dir: {} {}", path, error.message)};
  };
  Result<UniqueFd> directory = open_private_folder(path);
  if (!directory) return unusable(directory.error());
  std::unique_ptr<ProcDir> made(new ProcDir(*std::move(directory)));
  if (const Result<void> named = made->take_name(); !named) return unusable(named.error());
  return made;
}

Result<void> ProcDir::take_name() {
  for (;;) {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return internal_error();
    const std::string owner = format("{}-{:016x}", ::getpid(), number);
    UniqueFd file(::openat(directory_.get(), (owner + std::string(kLock)).c_str(),
                           O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    struct stat status = {};
    if (!file.is_open() || ::flock(file.get(), LOCK_EX) != 0 || ::fstat(file.get(), &status) != 0) {
      return Error{ErrorKind::internal, format("cannot be written to: {}", errno_text())};
    }
    if (status.st_nlink == 0) continue;  // somebody found it without its lock, and removed it
    owner_ = owner;
    lock_ = std::move(file);
    return {};
  }
}

ProcDir::~ProcDir() {
  if (lock_.is_open()) unlink(owner_ + std::string(kLock));
}

bool ProcDir::is_gone(const std::string& owner) const {
  const UniqueFd file(
      ::openat(directory_.get(), (owner + std::string(kLock)).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open()) return errno == ENOENT;
  return ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

std::string ProcDir::own_file(std::string_view jid) const {
  return format("{}.{}", jid, owner_);
}

void ProcDir::unlink(const std::string& name) const {
  ::unlinkat(directory_.get(), name.c_str(), 0);
}

Result<void> ProcDir::write(const std::string& name, std::string_view text) {
  const std::string unfinished = "." + name;
  const UniqueFd file(::openat(directory_.get(), unfinished.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const bool is_written =
      file.is_open() && write_all(file.get(), text) &&
      ::renameat(directory_.get(), unfinished.c_str(), directory_.get(), name.c_str()) == 0;
  if (is_written) return {};
  const Error error = internal_error();
  unlink(unfinished);
  return error;
}

Result<void> ProcDir::add(const returner::Load& load, std::string_view ret) {
  const Json text = text_of(load, ret);
  if (text.text().size() > kMaxFileSize) {
    return Error{ErrorKind::internal,
                 format("its load has {} bytes, more than {}", text.text().size(), kMaxFileSize)};
  }
  return write(own_file(load.jid), text.text());
}

void ProcDir::remove(const std::string& jid) {
  unlink(own_file(jid));
}

std::vector<std::string> ProcDir::names() const {
  std::vector<std::string> names;
  const Listing listing = list_folder(directory_.get());
  if (!listing) return names;
  while (const dirent* entry = ::readdir(listing.get())) {
    if (names.size() == kMaxEntries) break;
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<ActiveJob> ProcDir::read(const std::string& name) const {
  const auto text = read_regular_file(directory_.get(), name, Links::refuse, kMaxFileSize);
  if (!text) return std::nullopt;
  return job_in({text->data(), text->size()});
}

std::vector<ProcDir::Entry> ProcDir::others() const {
  std::vector<Entry> entries;
  std::map<std::string, bool> gone;
  for (const std::string& file : names()) {
    const std::optional<ProcName> name = parse_name(file);
    if (!name || name->owner == owner_) continue;
    const auto [owner, is_new] = gone.try_emplace(name->owner);
    if (is_new) owner->second = is_gone(name->owner);
    if (name->kind != ProcName::Kind::job) {
      if (owner->second) unlink(file);
      continue;
    }
    std::optional<ActiveJob> job = read(file);
    if (!job) continue;  // it has gone meanwhile
    job->pid = name->pid;
    job->load.jid = name->jid;
    entries.push_back({file, *std::move(job), owner->second});
  }
  return entries;
}

bool ProcDir::has(const Entry& entry) const {
  return ::faccessat(directory_.get(), entry.file.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool ProcDir::drop(const Entry& entry) {
  for (const std::string& name : names()) {
    if (name.starts_with(entry.file + ".")) unlink(name);
  }
  return ::unlinkat(directory_.get(), entry.file.c_str(), 0) == 0;
}

Result<void> ProcDir::mark(const Entry& entry, std::size_t call) {
  const std::string name = format("{}.{}", entry.file, call);
  const UniqueFd file(::openat(directory_.get(), name.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                               S_IRUSR | S_IWUSR));
  if (file.is_open()) return {};
  return internal_error();
}

std::vector<ProcDir::Mark> ProcDir::take_marks() {
  std::vector<Mark> marks;
  for (const std::string& file : names()) {
    const std::optional<ProcName> name = parse_name(file);
    if (!name || name->owner != owner_ || name->kind != ProcName::Kind::mark) continue;
    marks.push_back({std::string(name->jid), name->call});
    unlink(file);
  }
  return marks;
}

}  // namespace rest_fcgi::embedded
