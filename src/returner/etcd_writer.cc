// SPDX-License-Identifier: MIT
#include "returner/etcd_writer.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr milliseconds kGroupTime{10};     // in which a load and its first returns come together
constexpr milliseconds kLeastPause{200};   // between tries
constexpr milliseconds kMostPause{5000};   // the same
constexpr milliseconds kPatience{1000};    // for room in the spool, and for the cluster before the disk
constexpr milliseconds kLookTime{1000};    // between looks for what dead processes left, where somebody reads
constexpr milliseconds kHouseTime{10000};  // the same, where nobody does
constexpr milliseconds kStaleTime{500};    // a failure that is older is worth another try
constexpr milliseconds kReadTime{10000};   // that somebody waits who reads
constexpr std::size_t kMostRecords = 64;   // at once
constexpr std::size_t kMostBytes = 512 * 1024;

Error unavailable(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

std::string where(const EtcdOptions& options) {
  std::string endpoints;
  for (const std::string& endpoint : options.writing.endpoints) {
    endpoints.append(endpoints.empty() ? "" : ", ").append(endpoint);
  }
  return format("etcd.host: {}", endpoints);
}

}  // namespace

Result<std::unique_ptr<EtcdWriter>> EtcdWriter::start(const Options& options, const Clock& clock,
                                                      std::unique_ptr<EtcdStore> store) {
  const std::string& prefix = options.etcd.spool;
  const std::string directory = prefix.substr(0, prefix.rfind('/'));
  if (auto folder = open_private_folder(directory); !folder) {
    return unavailable(format("its folder {} {}", directory, folder.error().message));
  }
  auto spool = Spool::create(prefix, options.spool_bytes);
  if (!spool) return std::move(spool).error();
  std::unique_ptr<EtcdWriter> writer(new EtcdWriter(options, clock, std::move(store), *std::move(spool)));
  auto thread = Thread::start("etcd", [loop = writer.get()] { loop->loop(); });
  if (!thread) return unavailable(std::move(thread).error().message);
  writer->thread_ = *std::move(thread);
  return writer;
}

EtcdWriter::EtcdWriter(const Options& options, const Clock& clock, std::unique_ptr<EtcdStore> store,
                       std::unique_ptr<Spool> spool)
    : prefix_(options.etcd.spool),
      clock_(clock),
      trouble_("etcd", where(options.etcd)),
      spool_(std::move(spool)),
      delivery_(std::move(store), options.etcd) {}

EtcdWriter::~EtcdWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  if (spool_->empty()) {
    spool_->file().remove();
  } else {
    log::warning(format("etcd: {} holds jobs that could not be written; it waits for the next start",
                        spool_->file().path()));
  }
}

WallTime EtcdWriter::next_stamp() {
  const std::int64_t now = clock_.wall().time_since_epoch().count();
  std::int64_t last = last_stamp_.load();
  while (!last_stamp_.compare_exchange_weak(last, std::max(now, last + 1))) {
  }
  return WallTime(WallTime::duration(std::max(now, last + 1)));
}

Result<void> EtcdWriter::append(std::string_view record, Durability durability) {
  const std::string stamped = stamped_record(next_stamp(), record);
  std::unique_lock lock(mutex_);
  const bool fits = spool_->takes(stamped.size());
  if (fits && append_within_patience(lock, stamped)) {
    if (durability == Durability::durable) return make_durable(lock, spool_->tail());
    const bool wake = resting_ || spool_->more_than_half_full();
    resting_ = false;
    lock.unlock();
    if (wake) work_.notify_one();
    return {};
  }
  if (durability == Durability::grouped) {
    trouble_.lose(view_of(record));
    return {};
  }
  return trouble_.error(fits ? last_failure_
                             : unavailable(format("{} bytes are too many for its spool", stamped.size())));
}

bool EtcdWriter::append_within_patience(std::unique_lock<std::mutex>& lock, std::string_view record) {
  const auto deadline = SteadyClock::now() + kPatience;
  while (!spool_->append(record)) {
    urgent_ = true;
    work_.notify_one();
    if (trouble_.now() || done_.wait_until(lock, deadline) == std::cv_status::timeout) return false;
  }
  return true;
}

Result<void> EtcdWriter::make_durable(std::unique_lock<std::mutex>& lock, std::uint64_t end) {
  const std::uint64_t failures = failures_;
  const auto written = [&] { return spool_->head() >= end; };
  if (written()) return {};
  // In etcd, others find it; but whether the cluster is there is not for the caller to wait for.
  if (!trouble_.now()) {
    urgent_ = true;
    work_.notify_one();
    done_.wait_for(lock, kPatience, [&] { return written() || failures_ != failures; });
  }
  if (written()) return {};
  lock.unlock();
  return spool_->file().sync();
}

Result<void> EtcdWriter::flush() {
  const bool look = is_anything_left_behind();
  std::unique_lock lock(mutex_);
  if (look) ++looks_wanted_;
  const std::uint64_t looks = looks_wanted_;
  const std::uint64_t end = spool_->tail();
  const std::uint64_t failures = failures_;
  const auto done = [&] { return spool_->head() >= end && looks_done_ >= looks; };
  if (done()) return {};
  if (trouble_.now() && SteadyClock::now() < failed_at_ + kStaleTime) return trouble_.error(last_failure_);
  urgent_ = true;
  work_.notify_one();
  done_.wait_for(lock, kReadTime, [&] { return done() || failures_ != failures; });
  if (done()) return {};
  return trouble_.error(failures_ != failures ? last_failure_
                                              : unavailable("what was told before is not written so far"));
}

Result<void> EtcdWriter::settle() {
  std::unique_lock lock(mutex_);
  return make_durable(lock, spool_->tail());
}

bool EtcdWriter::is_anything_left_behind() {
  {
    const std::lock_guard lock(mutex_);
    const Time now = SteadyClock::now();
    if (now < look_due_) return false;
    look_due_ = now + kLookTime;
  }
  for (auto& file : SpoolFile::left_behind(prefix_)) {
    const auto spool = Spool::adopt(std::move(file));
    if (spool != nullptr && !spool->empty()) return true;
  }
  return false;
}

void EtcdWriter::loop() {
  std::unique_lock lock(mutex_);
  for (bool last = false; !last;) {
    wait_for_work(lock);
    last = stopping_;
    urgent_ = false;
    const Time now = SteadyClock::now();
    const bool look_around = looks_done_ < looks_wanted_ || now >= house_due_;
    if (look_around) house_due_ = now + kHouseTime;
    attempt(lock, look_around && !last);
  }
}

void EtcdWriter::wait_for_work(std::unique_lock<std::mutex>& lock) {
  bool waited = !spool_->empty();
  while (!stopping_ && !urgent_) {
    const bool waits = !spool_->empty();
    // The first record of a group begins its time.
    if (waits && !waited) due_ = std::max(due_, SteadyClock::now() + kGroupTime);
    waited = waits;
    if (spool_->more_than_half_full() && !trouble_.now()) return;
    const Time due = waits ? std::min(due_, house_due_) : house_due_;
    if (SteadyClock::now() >= due) return;
    resting_ = !waits;
    work_.wait_until(lock, due);
    resting_ = false;
  }
}

void EtcdWriter::attempt(std::unique_lock<std::mutex>& lock, bool look_around) {
  const std::uint64_t end = spool_->tail();
  const std::uint64_t looks = looks_wanted_;
  lock.unlock();
  Result<void> written = deliver(*spool_, end);
  if (written && look_around) written = deliver_left_behind();
  lock.lock();
  if (look_around && written) looks_done_ = looks;
  note(written);
  done_.notify_all();
}

void EtcdWriter::note(const Result<void>& written) {
  const Time now = SteadyClock::now();
  if (written) {
    trouble_.end();
    pause_ = {};
    due_ = now;
    return;
  }
  trouble_.begin(written.error());
  ++failures_;
  last_failure_ = written.error();
  failed_at_ = now;
  pause_ = std::clamp(pause_ * 2, kLeastPause, kMostPause);
  due_ = now + pause_;
}

Result<void> EtcdWriter::deliver(Spool& spool, std::uint64_t end) try {
  while (spool.head() < end) {
    std::vector<std::string_view> records;
    std::size_t bytes = 0;
    const Spool::Taken taken = spool.take(end, [&](std::string_view record) {
      if (!records.empty() && (records.size() == kMostRecords || bytes + record.size() > kMostBytes)) {
        return false;
      }
      records.push_back(record);
      bytes += record.size();
      return true;
    });
    if (Result<void> written = delivery_.deliver(records); !written) return written;
    if (taken.unreadable > 0) {
      log::error(format("etcd: {} bytes of jobs in {} cannot be read, as after a power cut", taken.unreadable,
                        spool.file().path()));
    }
    const std::lock_guard lock(mutex_);
    spool.drop(taken.end + taken.unreadable);
    done_.notify_all();
  }
  return {};
} catch (const std::exception& exception) {  // memory is short
  return unavailable(exception.what());
}

Result<void> EtcdWriter::deliver_left_behind() {
  if (spool_->file().is_gone()) {
    tell_once(spool_->file().path(), "was removed: if this process is killed, its last jobs are lost");
  }
  for (auto& file : SpoolFile::left_behind(prefix_)) {
    const std::string path = file->path();
    const auto spool = Spool::adopt(std::move(file));
    if (spool == nullptr) {
      tell_once(path, "is no spool that this program can read; it stays there");
      continue;
    }
    if (Result<void> written = deliver(*spool, spool->tail()); !written) return written;
    spool->file().remove();
  }
  return {};
}

void EtcdWriter::tell_once(const std::string& path, const std::string& line) {
  if (told_of_.insert(path).second) log::error(format("etcd: {} {}", path, line));
}

}  // namespace rest_fcgi::returner
