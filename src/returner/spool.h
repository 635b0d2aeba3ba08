// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "returner/spool_file.h"

namespace rest_fcgi::returner {

/// A ring of records in a spool file: what was told to be kept, and is not in the database, or in etcd, so
/// far. Positions count bytes from the first record ever on and never go back. Not synchronized; but records
/// before `tail()` do not change until they are dropped, so that they may be read while others are appended.
class Spool {
 public:
  using Visitor = std::function<void(std::string_view record)>;
  /// False leaves that record, and those behind it, where they are.
  using Taker = std::function<bool(std::string_view record)>;
  struct Taken {
    std::uint64_t end = 0;         ///< behind the last record that was taken
    std::uint64_t unreadable = 0;  ///< bytes behind that which cannot be read
  };

  [[nodiscard]] static Result<std::unique_ptr<Spool>> create(const std::string& database, std::size_t size);

  /// What a dead process left; null where the file is no spool of this version.
  [[nodiscard]] static std::unique_ptr<Spool> adopt(std::unique_ptr<SpoolFile> file);

  /// False where there is no room. REQUIRES: `takes` its size.
  bool append(std::string_view record);

  /// Is it not too large for any time?
  [[nodiscard]] bool takes(std::size_t record_size) const noexcept;

  [[nodiscard]] std::uint64_t head() const noexcept { return header_->head; }
  [[nodiscard]] std::uint64_t tail() const noexcept { return header_->tail; }
  [[nodiscard]] bool empty() const noexcept { return head() == tail(); }
  [[nodiscard]] bool more_than_half_full() const noexcept { return tail() - head() > capacity_ / 2; }

  /// Visits the records from the head on to `end`, in order. Returns how many bytes cannot be read: only a
  /// host that lost its power leaves such.
  std::uint64_t visit(std::uint64_t end, const Visitor& visitor) const;

  /// The same, but only as far as `taker` takes them.
  [[nodiscard]] Taken take(std::uint64_t end, const Taker& taker) const;

  /// Makes room: the records before `position` are in the database.
  void drop(std::uint64_t position) noexcept { header_->head = position; }

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

  explicit Spool(std::unique_ptr<SpoolFile> file);
  [[nodiscard]] char* at(std::uint64_t position) const noexcept { return ring_ + position % capacity_; }
  [[nodiscard]] std::uint64_t up_to_the_edge(std::uint64_t position) const noexcept {
    return capacity_ - position % capacity_;
  }
  void put(std::uint64_t position, std::uint32_t size, std::string_view record);

  std::unique_ptr<SpoolFile> file_;
  Header* header_;  // in the file
  char* ring_;      // in the file
  std::uint64_t capacity_;
};

}  // namespace rest_fcgi::returner
