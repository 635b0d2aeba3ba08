// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::returner {

/// A file whose path begins with a job cache's prefix, mapped into memory and locked for as long as this
/// lives; the lock says that its process does. What is written into the mapping outlives the process, however
/// it ends. Not synchronized.
class SpoolFile {
 public:
  /// Makes one with `size` bytes that the disk has set aside. Errors: unavailable, with the cause.
  [[nodiscard]] static Result<std::unique_ptr<SpoolFile>> create(const std::string& prefix, std::size_t size);

  /// Those that processes left behind which do not live any more. What cannot be read is left alone.
  [[nodiscard]] static std::vector<std::unique_ptr<SpoolFile>> left_behind(const std::string& prefix);

  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  [[nodiscard]] char* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// What was written into it is on the disk when this comes back. Errors: unavailable. After one that failed
  /// all do, until everything was written anew: the system takes for written what the disk did not take, and
  /// tells only once (fsync(2)).
  [[nodiscard]] Result<void> sync();

  /// Writes all of it anew where a sync failed, so that the next one tells the truth. REQUIRES: nobody writes
  /// into it meanwhile.
  void write_anew();

  /// Somebody removed it: what is in it ends with this process.
  [[nodiscard]] bool is_gone() const noexcept;

  /// Takes the file away, when nothing in it is needed any more.
  void remove() noexcept;

 private:
  SpoolFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] bool map(std::size_t size) noexcept;

  UniqueFd fd_;
  std::string path_;
  char* data_ = nullptr;  // mapped
  std::size_t size_ = 0;
  bool unsure_ = false;  // a sync failed, and not all of it was written since
};

/// A ring of records in a spool file: what was told to be kept, and is not in the job cache so far.
/// Positions count bytes from the first record ever on and never go back. Not synchronized; but records
/// before `tail()` do not change until they are dropped, so that they may be read while others are appended.
class Spool {
 public:
  /// False leaves that record, and those behind it, where they are.
  using Taker = std::function<bool(std::string_view record)>;
  struct Taken {
    std::uint64_t end = 0;         ///< behind the last record that was taken
    std::uint64_t unreadable = 0;  ///< bytes before that which cannot be read
  };

  [[nodiscard]] static Result<std::unique_ptr<Spool>> create(const std::string& prefix, std::size_t size);

  /// What a dead process left; null where the file is no spool of this version.
  [[nodiscard]] static std::unique_ptr<Spool> adopt(std::unique_ptr<SpoolFile> file);

  /// False where there is no room. REQUIRES: `takes` its size.
  bool append(std::string_view record);

  /// Takes back the record that ends at `end`: nobody will see it. REQUIRES: nobody reads it now.
  void withdraw(std::uint64_t end);

  /// Is it not too large for any time?
  [[nodiscard]] bool takes(std::size_t record_size) const noexcept;

  [[nodiscard]] std::uint64_t head() const noexcept { return header_->head; }
  [[nodiscard]] std::uint64_t tail() const noexcept { return header_->tail; }
  [[nodiscard]] bool empty() const noexcept { return head() == tail(); }
  [[nodiscard]] bool more_than_half_full() const noexcept { return tail() - head() > capacity_ / 2; }

  /// Visits the records from the head on to `end`, in order, as far as `taker` takes them. Only a host that
  /// lost its power leaves bytes that cannot be read; what lies behind them is found by its position and
  /// checksum.
  [[nodiscard]] Taken take(std::uint64_t end, const Taker& taker) const;

  /// Makes room: the records before `position` are in the job cache. Now and then the process gives back the
  /// memory where they were, so that it does not come to hold the whole ring; the file keeps its size.
  void drop(std::uint64_t position) noexcept;

  [[nodiscard]] SpoolFile& file() const noexcept { return *file_; }

 private:
  struct Header {
    char magic[16];
    std::uint64_t head;
    std::uint64_t tail;
  };
  struct RecordHead {
    std::uint32_t size;
    std::uint32_t checksum;
    std::uint64_t position;
  };
  /// What lies between two records' beginnings.
  struct Stretch {
    std::uint64_t end = 0;
    std::optional<std::string_view> record;  ///< absent where it was withdrawn, or only fills the ring up
  };

  explicit Spool(std::unique_ptr<SpoolFile> file);
  [[nodiscard]] char* at(std::uint64_t position) const noexcept { return ring_ + position % capacity_; }
  [[nodiscard]] std::uint64_t up_to_the_edge(std::uint64_t position) const noexcept {
    return capacity_ - position % capacity_;
  }
  void put(std::uint64_t position, std::uint32_t size, std::string_view record);
  void give_back(std::uint64_t begin, std::uint64_t end) noexcept;
  /// Absent where nothing that can be read begins at `position`.
  [[nodiscard]] std::optional<Stretch> stretch_at(std::uint64_t position, std::uint64_t end) const;

  std::unique_ptr<SpoolFile> file_;
  Header* header_;  // in the file
  char* ring_;      // in the file
  std::uint64_t capacity_;
};

}  // namespace rest_fcgi::returner
