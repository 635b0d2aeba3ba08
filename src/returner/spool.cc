// SPDX-License-Identifier: MIT
#include "returner/spool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace rest_fcgi::returner {
namespace {

constexpr std::size_t kHeaderSize = 4096;
constexpr std::size_t kAlign = 16;               // so that a head always fits before the edge of the ring
constexpr std::uint32_t kEdge = UINT32_MAX;      // the size of what only fills up the ring to its edge
constexpr char kMagic[16] = "rest_fcgi sp 1\n";  // with the version of what is inside
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

Spool::Spool(std::unique_ptr<SpoolFile> file)
    : file_(std::move(file)),
      header_(static_cast<Header*>(static_cast<void*>(file_->data()))),
      ring_(file_->data() + kHeaderSize),
      capacity_((file_->size() - kHeaderSize) / kAlign * kAlign) {}

Result<std::unique_ptr<Spool>> Spool::create(const std::string& database, std::size_t size) {
  auto file = SpoolFile::create(database, kHeaderSize + size);
  if (!file) return std::move(file).error();
  std::unique_ptr<Spool> spool(new Spool(*std::move(file)));
  std::memcpy(spool->header_->magic, kMagic, sizeof kMagic);
  return spool;
}

std::unique_ptr<Spool> Spool::adopt(std::unique_ptr<SpoolFile> file) {
  if (file->size() < kHeaderSize + kAlign) return nullptr;
  std::unique_ptr<Spool> spool(new Spool(std::move(file)));
  const Header& header = *spool->header_;
  // Nothing was written where its process ended at its very beginning: that is an empty spool.
  constexpr Header kUntouched{};
  const bool is_spool = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 ||
                        std::memcmp(&header, &kUntouched, sizeof header) == 0;
  const bool is_sound = header.head <= header.tail && header.tail - header.head <= spool->capacity_ &&
                        header.head % kAlign == 0 && header.tail % kAlign == 0;
  return is_spool && is_sound ? std::move(spool) : nullptr;
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

std::uint64_t Spool::visit(std::uint64_t end, const Visitor& visitor) const {
  return take(end,
              [&visitor](std::string_view record) {
                visitor(record);
                return true;
              })
      .unreadable;
}

Spool::Taken Spool::take(std::uint64_t end, const Taker& taker) const {
  std::uint64_t position = head();
  while (position < end) {
    RecordHead found;
    std::memcpy(&found, at(position), sizeof found);
    const std::uint64_t edge = up_to_the_edge(position);
    const bool is_edge = found.size == kEdge;
    const std::uint64_t size = is_edge ? edge : aligned(sizeof found + found.size);
    if (found.position != position || size > edge || size > end - position) return {position, end - position};
    const std::string_view record(at(position) + sizeof found, is_edge ? 0 : found.size);
    if (checksum_of(position, record) != found.checksum) return {position, end - position};
    if (!is_edge && !taker(record)) return {position, 0};
    position += size;
  }
  return {position, 0};
}

}  // namespace rest_fcgi::returner
