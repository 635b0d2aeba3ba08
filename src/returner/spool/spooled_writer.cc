// SPDX-License-Identifier: MIT
#include "returner/spool/spooled_writer.h"

#include <algorithm>
#include <exception>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::returner {
namespace {

using std::chrono::milliseconds;
using RealTime = std::chrono::steady_clock;  // what is waited for by

constexpr milliseconds kLeastPause{200};   // between tries
constexpr milliseconds kPatience{1000};    // for room in the spool, and for the job cache before the disk
constexpr milliseconds kLookTime{1000};    // between looks for what dead processes left, where somebody reads
constexpr milliseconds kHouseTime{10000};  // the same, where nobody does
constexpr milliseconds kReadTime{10000};  // that somebody waits who reads, where a failure counts for a while
constexpr std::size_t kMostLeft = 16;     // spools of dead processes, before one of them is gone on with

Error cannot(std::string message) {
  return {ErrorKind::unavailable, std::move(message)};
}

/// What `call` returns; where it throws, the sink gives up what it was about.
template <class Call>
Result<void> guarded(SpoolSink& sink, const Call& call) try {
  return call();
} catch (const std::exception& exception) {  // memory is short
  sink.give_up();
  return cannot(exception.what());
}

/// One of its own; or where many processes left theirs, the emptiest of them, so that their number is
/// bounded.
Result<std::unique_ptr<Spool>> spool_for(const SpooledWriterOptions& options) {
  std::vector<std::unique_ptr<SpoolFile>> left = SpoolFile::left_behind(options.prefix);
  std::unique_ptr<Spool> emptiest;
  if (left.size() >= kMostLeft) {
    for (auto& file : left) {
      auto spool = Spool::adopt(std::move(file));
      const auto waits = [](const Spool& one) { return one.tail() - one.head(); };
      if (spool && (!emptiest || waits(*spool) < waits(*emptiest))) emptiest = std::move(spool);
    }
  }
  if (!emptiest) return Spool::create(options.prefix, options.spool_bytes);
  log::warning(format("{}: {} processes ended with jobs that wait to be written; this one goes on with {}",
                      options.where, left.size(), emptiest->file().path()));
  return emptiest;
}

}  // namespace

void Trouble::begin(const Error& cause) {
  const std::lock_guard lock(mutex_);
  if (now_) return;
  now_ = true;
  log::error(format("{} cannot be written: {}. Jobs wait in its spool.", where_, cause.message));
}

void Trouble::end() {
  const std::lock_guard lock(mutex_);
  if (!now_ && !losing_) return;
  log::warning(
      format("{} is written again; {}", where_, losing_ ? losses() : std::string("nothing was lost")));
  now_ = false;
  losing_ = false;
  loads_ = 0;
  returns_ = 0;
}

bool Trouble::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void Trouble::lose(const std::optional<RecordView>& record) {
  on_loss_();
  const std::lock_guard lock(mutex_);
  const bool is_load = record && record->kind == RecordView::Kind::load;
  ++(is_load ? loads_ : returns_);
  if (is_load) {
    ReturnReader returns(record->load.returns, record->load.minions, record->packing);
    while (returns.next()) ++returns_;
  }
  if (losing_) return;
  losing_ = true;
  log::error(format("{} takes no more, and its spool is full: jobs are lost from now on", where_));
}

void Trouble::refuse(std::string_view what, std::string_view why) {
  on_loss_();
  const std::lock_guard lock(mutex_);
  log::error(format("{} does not keep {}: {} ({} refused since the start)", cache_, what, why, ++refused_));
}

void Trouble::tell_of_unreadable(std::uint64_t bytes, const std::string& spool) const {
  if (bytes == 0) return;
  log::error(format("{}: {} bytes of jobs in {} cannot be read, as after a power cut", cache_, bytes, spool));
}

Error Trouble::error(const Error& cause) const {
  const std::lock_guard lock(mutex_);
  std::string message = format("The job cache {} cannot be used now: {}.", cache_, cause.message);
  if (losing_) message += format(" Missing: {}.", losses());
  return {ErrorKind::unavailable, std::move(message)};
}

std::string Trouble::losses() const {
  return format("{} jobs and {} returns were lost", loads_, returns_);
}

Result<std::unique_ptr<SpooledWriter>> SpooledWriter::start(SpooledWriterOptions options, const Clock& clock,
                                                            std::unique_ptr<SpoolSink> sink) {
  auto spool = spool_for(options);
  if (!spool) return std::move(spool).error();
  std::unique_ptr<SpooledWriter> writer(
      new SpooledWriter(std::move(options), clock, std::move(sink), *std::move(spool)));
  auto thread = Thread::start(writer->options_.name, [loop = writer.get()] { loop->loop(); });
  if (!thread) return cannot(std::move(thread).error().message);
  writer->thread_ = *std::move(thread);
  return writer;
}

SpooledWriter::SpooledWriter(SpooledWriterOptions options, const Clock& clock,
                             std::unique_ptr<SpoolSink> sink, std::unique_ptr<Spool> spool)
    : options_(std::move(options)),
      clock_(clock),
      trouble_(options_.name, options_.where, options_.on_loss),
      sink_(std::move(sink)),
      spool_(std::move(spool)),
      last_failure_(cannot("its spool is full")) {}

SpooledWriter::~SpooledWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
  if (spool_->empty()) {
    spool_->file().remove();
  } else {
    log::warning(format("{}: {} holds jobs that could not be written; it waits for the next start",
                        options_.where, spool_->file().path()));
  }
}

void SpooledWriter::append(std::string_view record) {
  Lock lock(mutex_);
  if (!takes(record.size()) || !append_within_patience(lock, record)) return lose(record);
  const bool wake = resting_ || spool_->more_than_half_full();
  resting_ = false;
  lock.unlock();
  if (wake) work_.notify_one();
}

Result<void> SpooledWriter::append_durably(std::string_view record) {
  Lock lock(mutex_);
  if (!takes(record.size())) {
    return trouble_.error(cannot(format("{} bytes are too many for its spool", record.size())));
  }
  if (!append_within_patience(lock, record)) return trouble_.error(last_failure_);
  const std::uint64_t end = spool_->tail();
  Result<void> durable = make_durable(lock, end);
  if (durable) return durable;
  // The caller is told that it is not kept, so it must not be: unless it is being written right now.
  done_.wait(lock, [&] { return spool_->head() >= end || taken_ < end; });
  if (spool_->head() >= end) return {};
  spool_->withdraw(end);
  return trouble_.error(durable.error());
}

bool SpooledWriter::append_within_patience(Lock& lock, std::string_view record) {
  const auto deadline = RealTime::now() + kPatience;
  while (!spool_->append(record)) {
    hurry();
    if (trouble_.now() || done_.wait_until(lock, deadline) == std::cv_status::timeout) return false;
  }
  return true;
}

Result<void> SpooledWriter::make_durable(Lock& lock, std::uint64_t end) {
  const std::uint64_t failed = failed_;
  const auto written = [&] { return spool_->head() >= end; };
  if (written()) return {};
  // In the job cache, others find it; but whether that can be written is not for the caller to wait for.
  if (!trouble_.now()) {
    hurry();
    done_.wait_for(lock, kPatience, [&] { return written() || failed_ != failed; });
  }
  if (written()) return {};
  lock.unlock();
  Result<void> synced = sync_spool();
  lock.lock();
  return synced;
}

Result<void> SpooledWriter::sync_spool() {
  // One after the other: of two at once, only one would hear that the disk failed.
  const std::lock_guard alone(sync_mutex_);
  {
    const std::lock_guard lock(mutex_);
    spool_->file().write_anew();
  }
  return spool_->file().sync();
}

void SpooledWriter::hurry() {
  urgent_ = true;
  work_.notify_one();
}

Result<void> SpooledWriter::run(Durability durability, const WriterTask& task) {
  Waiting waiting{task, durability};
  Lock lock(mutex_);
  tasks_.push_back(&waiting);
  hurry();
  done_.wait(lock, [&] { return waiting.done; });
  if (waiting.result) return {};
  return trouble_.error(waiting.result.error());
}

Result<void> SpooledWriter::flush() {
  const bool look = is_anything_left_behind();
  Lock lock(mutex_);
  if (look) ++looks_wanted_;
  const std::uint64_t looks = looks_wanted_;
  const std::uint64_t end = spool_->tail();
  const bool any_counts = options_.failure_counts.count() > 0;
  const std::uint64_t known = any_counts ? failed_ : attempt_;
  const auto done = [&] { return spool_->head() >= end && looks_done_ >= looks; };
  if (done()) return {};
  if (any_counts && trouble_.now() && clock_.steady() < failed_at_ + options_.failure_counts) {
    return trouble_.error(last_failure_);
  }
  hurry();
  const milliseconds limit = any_counts ? kReadTime : std::chrono::hours(1);
  done_.wait_for(lock, limit, [&] { return done() || failed_ > known; });
  if (done()) return {};
  return trouble_.error(failed_ > known ? last_failure_
                                        : cannot("what was told before is not written so far"));
}

Result<void> SpooledWriter::settle() {
  Lock lock(mutex_);
  return make_durable(lock, spool_->tail());
}

bool SpooledWriter::is_anything_left_behind() {
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = clock_.steady();
    if (now < look_due_) return false;
    look_due_ = now + kLookTime;
  }
  for (auto& file : SpoolFile::left_behind(options_.prefix)) {
    const auto spool = Spool::adopt(std::move(file));
    if (spool != nullptr && !spool->empty()) return true;
  }
  return false;
}

void SpooledWriter::loop() {
  Lock lock(mutex_);
  for (bool last = false; !last;) {
    wait_for_work(lock);
    last = stopping_;
    urgent_ = false;
    const auto now = RealTime::now();
    bool look_around = looks_done_ < looks_wanted_ || now >= house_due_;
    if (look_around) house_due_ = now + kHouseTime;
    if (last) look_around = attempt_ == 0;  // for what was left before, at least once
    attempt(lock, look_around);
    lock.unlock();
    const Result<void> tended = guarded(*sink_, [&] { return sink_->tend(last); });
    lock.lock();
    if (!tended) trouble_.begin(tended.error());
  }
}

void SpooledWriter::wait_for_work(Lock& lock) {
  bool waited = !spool_->empty();
  while (!stopping_ && !urgent_) {
    const bool waits = !spool_->empty();
    // The first record of a group begins its time.
    if (waits && !waited) due_ = std::max(due_, RealTime::now() + options_.group_time);
    waited = waits;
    if (spool_->more_than_half_full() && !trouble_.now()) return;
    SteadyTime due = std::min(house_due_, sink_->next_due());
    if (waits) due = std::min(due, due_);
    if (RealTime::now() >= due) return;
    resting_ = !waits;
    work_.wait_until(lock, due);
    resting_ = false;
  }
}

void SpooledWriter::attempt(Lock& lock, bool look_around) {
  std::vector<Waiting*> waiting;
  waiting.swap(tasks_);
  taken_ = spool_->tail();
  ++attempt_;
  const std::uint64_t looks = looks_wanted_;
  const bool anything = !spool_->empty() || !waiting.empty();
  lock.unlock();
  Result<void> written = anything ? write(*spool_, taken_, waiting, false) : Result<void>();
  lock.lock();
  if (written) spool_->drop(taken_);
  taken_ = 0;
  for (Waiting* one : waiting) {
    one->result = written;
    one->done = true;
  }
  if (anything) note(written);
  done_.notify_all();
  if (!written || !look_around) return;
  lock.unlock();
  written = guarded(*sink_, [&] { return write_left_behind(); });
  lock.lock();
  if (written) looks_done_ = looks;
  note(written);
  done_.notify_all();
}

void SpooledWriter::note(const Result<void>& written) {
  if (written) {
    if (sink_->is_well()) trouble_.end();
    pause_ = {};
    due_ = RealTime::now() + options_.rest_time;
    return;
  }
  trouble_.begin(written.error());
  failed_ = attempt_;
  last_failure_ = written.error();
  failed_at_ = clock_.steady();
  pause_ = std::min(std::max(pause_ * 2, kLeastPause), options_.most_pause);
  due_ = RealTime::now() + pause_;
}

Result<void> SpooledWriter::write(Spool& spool, std::uint64_t end, const std::vector<Waiting*>& waiting,
                                  bool durable) {
  return guarded(*sink_, [&] {
    std::vector<const WriterTask*> tasks;
    for (const Waiting* one : waiting) {
      tasks.push_back(&one->task);
      durable = durable || one->durability == Durability::durable;
    }
    return sink_->write({spool, end, tasks, durable,
                         [&](std::uint64_t position) {
                           const std::lock_guard lock(mutex_);
                           spool.drop(position);
                           done_.notify_all();
                         }},
                        trouble_);
  });
}

Result<void> SpooledWriter::write_left_behind() {
  if (spool_->file().is_gone()) {
    tell_once(spool_->file().path(), "was removed: if this process is killed, its last jobs are lost");
  }
  for (auto& file : SpoolFile::left_behind(options_.prefix)) {
    const std::string path = file->path();
    const auto spool = Spool::adopt(std::move(file));
    if (spool == nullptr) {
      tell_once(path, "is no spool that this program can read; it stays there");
      continue;
    }
    if (!spool->empty()) {
      if (Result<void> written = write(*spool, spool->tail(), {}, true); !written) return written;
      spool->drop(spool->tail());
    }
    spool->file().remove();
  }
  return {};
}

void SpooledWriter::tell_once(const std::string& path, std::string_view line) {
  if (told_of_.insert(path).second) log::error(format("{}: {} {}", options_.where, path, line));
}

}  // namespace rest_fcgi::returner
