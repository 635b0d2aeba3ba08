// SPDX-License-Identifier: MIT
#include "returner/spool/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::returner {
namespace {

constexpr std::string_view kSuffix = "-spool-";

Error unusable(const std::string& path, int error) {
  return {ErrorKind::unavailable, format("the spool {} cannot be made: {}", path, errno_text(error))};
}

bool is_ours(int fd, struct stat& status) {
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && !distrust(status, {.of_root = false});
}

std::vector<std::string> spools_of(const std::string& prefix) {
  const std::filesystem::path path(prefix);
  const std::string beginning = path.filename().string() + std::string(kSuffix);
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(path.parent_path(), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (entries->path().filename().string().starts_with(beginning)) found.push_back(entries->path().string());
  }
  return found;
}

constexpr std::size_t kHeaderSize = 4096;
constexpr std::size_t kAlign = 16;              // so that a head always fits before the edge of the ring
constexpr std::uint32_t kEdge = UINT32_MAX;     // the size of what only fills up the ring to its edge
constexpr std::uint32_t kWithdrawn = 1U << 31;  // in the size of a record that nobody is to see
// With the version of what is inside. Releases that know the first one alone leave the second where it is.
constexpr char kMagic[16] = "rest_fcgi sp 2\n";
constexpr char kFirstMagic[16] = "rest_fcgi sp 1\n";
constexpr std::uint64_t kGivenBack = 1 << 20;  // bytes: so often is the memory of dropped records given back
constexpr std::uint64_t kMixer = 0x9e3779b97f4a7c15;

std::uint64_t aligned(std::uint64_t size) noexcept {
  return (size + kAlign - 1) / kAlign * kAlign;
}

/// Against what a power cut leaves of a page, not against anybody.
std::uint32_t checksum_of(std::uint64_t position, std::string_view bytes) noexcept {
  std::uint64_t sum = position + bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof sum) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    sum = (sum ^ word) * kMixer;
    sum ^= sum >> 29;
  }
  return static_cast<std::uint32_t>(sum ^ (sum >> 32));
}

}  // namespace

Result<std::unique_ptr<SpoolFile>> SpoolFile::create(const std::string& prefix, std::size_t size) {
  std::unique_ptr<SpoolFile> file;
  // Whoever looks for what dead processes left may come before our lock, and take it away.
  while (file == nullptr || file->is_gone()) {
    std::string path = prefix + std::string(kSuffix) + "XXXXXX";
    UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd) return unusable(path, errno);
    file.reset(new SpoolFile(std::move(fd), std::move(path)));
    if (::flock(file->fd_.get(), LOCK_EX) != 0) return unusable(file->path(), errno);
  }
  int error = ::posix_fallocate(file->fd_.get(), 0, static_cast<off_t>(size));
  if (error == 0 && !file->map(size)) error = errno;
  if (error == 0) return file;
  file->remove();
  return unusable(file->path(), error);
}

std::vector<std::unique_ptr<SpoolFile>> SpoolFile::left_behind(const std::string& prefix) {
  std::vector<std::unique_ptr<SpoolFile>> found;
  for (std::string& path : spools_of(prefix)) {
    UniqueFd opened(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!opened) continue;
    const int fd = opened.get();
    std::unique_ptr<SpoolFile> file(new SpoolFile(std::move(opened), std::move(path)));
    struct stat status {};
    // Locked before it is looked at: its process may have written all of it until it ended.
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_ours(fd, status) || file->is_gone()) continue;
    if (status.st_size == 0) {
      file->remove();  // its process ended before it was anything
    } else if (file->map(static_cast<std::size_t>(status.st_size))) {
      found.push_back(std::move(file));
    }
  }
  return found;
}

SpoolFile::~SpoolFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool SpoolFile::map(std::size_t size) noexcept {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED) return false;
  data_ = static_cast<char*>(memory);
  size_ = size;
  return true;
}

Result<void> SpoolFile::sync() {
  errno = EIO;
  bool done = !unsure_ && ::msync(data_, size_, MS_SYNC) == 0;
  unsure_ = !done;
  // Its name, too: it may be new.
  const UniqueFd folder(::open(std::filesystem::path(path_).parent_path().c_str(), O_DIRECTORY | O_CLOEXEC));
  done = folder && ::fsync(folder.get()) == 0 && done;
  if (done) return {};
  return Error{ErrorKind::unavailable, format("the spool {} is not on the disk: {}", path_, errno_text())};
}

void SpoolFile::write_anew() {
  if (!unsure_) return;
  std::size_t written = 0;
  while (written < size_) {
    const ssize_t count = ::pwrite(fd_.get(), data_ + written, size_ - written, static_cast<off_t>(written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    written += static_cast<std::size_t>(count);
  }
  unsure_ = false;
}

bool SpoolFile::is_gone() const noexcept {
  struct stat status {};
  return ::fstat(fd_.get(), &status) != 0 || status.st_nlink == 0;
}

void SpoolFile::remove() noexcept {
  ::unlink(path_.c_str());
}

Spool::Spool(std::unique_ptr<SpoolFile> file)
    : file_(std::move(file)),
      header_(static_cast<Header*>(static_cast<void*>(file_->data()))),
      ring_(file_->data() + kHeaderSize),
      capacity_((file_->size() - kHeaderSize) / kAlign * kAlign) {}

Result<std::unique_ptr<Spool>> Spool::create(const std::string& prefix, std::size_t size) {
  auto file = SpoolFile::create(prefix, kHeaderSize + size);
  if (!file) return std::move(file).error();
  std::unique_ptr<Spool> spool(new Spool(*std::move(file)));
  std::memcpy(spool->header_->magic, kMagic, sizeof kMagic);
  return spool;
}

std::unique_ptr<Spool> Spool::adopt(std::unique_ptr<SpoolFile> file) {
  if (file->size() < kHeaderSize + kAlign) return nullptr;
  std::unique_ptr<Spool> spool(new Spool(std::move(file)));
  Header& header = *spool->header_;
  // Nothing was written where its process ended at its very beginning: that is an empty spool.
  constexpr Header kUntouched{};
  const bool is_old = std::memcmp(header.magic, kFirstMagic, sizeof kMagic) == 0;
  const bool is_spool = is_old || std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 ||
                        std::memcmp(&header, &kUntouched, sizeof header) == 0;
  const bool is_sound = header.head <= header.tail && header.tail - header.head <= spool->capacity_ &&
                        header.head % kAlign == 0 && header.tail % kAlign == 0;
  if (!is_spool || !is_sound) return nullptr;
  // Records of this version may come behind those that are there.
  if (is_old) std::memcpy(header.magic, kMagic, sizeof kMagic);
  return spool;
}

bool Spool::takes(std::size_t record_size) const noexcept {
  return record_size < capacity_ / 4;
}

bool Spool::append(std::string_view record) {
  std::uint64_t position = tail();
  const std::uint64_t needed = aligned(sizeof(RecordHead) + record.size());
  const std::uint64_t edge = up_to_the_edge(position);
  const std::uint64_t skipped = needed > edge ? edge : 0;
  if (position + skipped + needed - head() > capacity_) return false;
  if (skipped > 0) {
    put(position, kEdge, {});
    position += skipped;
  }
  put(position, static_cast<std::uint32_t>(record.size()), record);
  // Last, so that whenever the process ends, what lies before the tail is whole.
  std::atomic_ref(header_->tail).store(position + needed, std::memory_order_release);
  return true;
}

void Spool::put(std::uint64_t position, std::uint32_t size, std::string_view record) {
  const RecordHead record_head{size, checksum_of(position, record), position};
  std::memcpy(at(position), &record_head, sizeof record_head);
  if (!record.empty()) std::memcpy(at(position) + sizeof record_head, record.data(), record.size());
}

std::optional<Spool::Stretch> Spool::stretch_at(std::uint64_t position, std::uint64_t end) const {
  RecordHead found;
  std::memcpy(&found, at(position), sizeof found);
  const std::uint64_t edge = up_to_the_edge(position);
  const bool is_edge = found.size == kEdge;
  const std::uint32_t bytes = is_edge ? 0 : found.size & ~kWithdrawn;
  const std::uint64_t size = is_edge ? edge : aligned(sizeof found + bytes);
  if (found.position != position || size > edge || size > end - position) return std::nullopt;
  const std::string_view record(at(position) + sizeof found, bytes);
  if (checksum_of(position, record) != found.checksum) return std::nullopt;
  const bool is_seen = (found.size & kWithdrawn) == 0;  // which an edge has as well
  return Stretch{position + size, is_seen ? std::optional(record) : std::nullopt};
}

void Spool::drop(std::uint64_t position) noexcept {
  const std::uint64_t before = head();
  header_->head = position;
  if (before / kGivenBack != position / kGivenBack) give_back(before / kGivenBack * kGivenBack, position);
}

/// What is in the file stays there, also the records of a next lap.
void Spool::give_back(std::uint64_t begin, std::uint64_t end) noexcept {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  while (begin < end) {
    const std::uint64_t size = std::min(end - begin, up_to_the_edge(begin));
    const auto start = static_cast<std::uint64_t>(at(begin) - file_->data());
    const std::uint64_t first = (start + page - 1) / page * page;
    const std::uint64_t last = (start + size) / page * page;  // whole pages alone
    if (first < last) ::madvise(file_->data() + first, last - first, MADV_DONTNEED);
    begin += size;
  }
}

Spool::Taken Spool::take(std::uint64_t end, const Taker& taker) const {
  Taken taken{head(), 0};
  while (taken.end < end) {
    const std::optional<Stretch> stretch = stretch_at(taken.end, end);
    if (!stretch) {  // as after a power cut that left an older head than what it overwrote, or half a record
      taken.end += kAlign;
      taken.unreadable += kAlign;
      continue;
    }
    if (stretch->record && !taker(*stretch->record)) break;
    taken.end = stretch->end;
  }
  return taken;
}

void Spool::withdraw(std::uint64_t end) {
  for (std::uint64_t position = head(); position < end;) {
    const std::optional<Stretch> stretch = stretch_at(position, end);
    const std::uint64_t next = stretch ? stretch->end : position + kAlign;
    if (stretch && next == end) {
      RecordHead head;
      std::memcpy(&head, at(position), sizeof head);
      head.size |= kWithdrawn;
      std::memcpy(at(position), &head, sizeof head);
    }
    position = next;
  }
}

}  // namespace rest_fcgi::returner
