// SPDX-License-Identifier: MIT
#include "returner/spool/spooled_writer.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <new>

#include <doctest/doctest.h>

#include "../support/captured_log.h"
#include "../support/manual_clock.h"
#include "../support/temp_dir.h"

namespace {

/// The disk below the spools: what it did not take once is lost, and told only once, until it is written
/// anew.
std::atomic<bool> disk_fails{false};
std::atomic<bool> pages_lost{false};
std::function<void()> before_lock;

}  // namespace

// In place of those of the C library, in all of this program.
extern "C" int msync(void* address, std::size_t length, int flags) {
  if (disk_fails) {
    pages_lost = true;
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_msync, address, length, flags));
}

extern "C" ssize_t pwrite(int fd, const void* bytes, std::size_t count, off_t offset) {
  struct stat status {};
  const bool all =
      ::fstat(fd, &status) == 0 && offset == 0 && count == static_cast<std::size_t>(status.st_size);
  const ssize_t written = ::syscall(SYS_pwrite64, fd, bytes, count, offset);
  if (all && !disk_fails) pages_lost = false;
  return written;
}

extern "C" int flock(int fd, int operation) noexcept {
  if (before_lock) before_lock();
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}

namespace rest_fcgi::returner {
namespace {

using Records = std::vector<std::string>;

/// Where a test's records go.
struct Place {
  std::mutex mutex;
  Records records;
  bool fails = false;
  std::atomic<int> chores{0};             // of the sink's own, each due at once
  std::atomic<bool> chore_throws{false};  // the next one
  std::atomic<int> given_up{0};
};

class FakeSink : public SpoolSink {
 public:
  explicit FakeSink(Place& place) : place_(place) {}

  Result<void> write(const SpooledWork& work, Trouble& trouble) override {
    const std::lock_guard lock(place_.mutex);
    if (place_.fails) return Error{ErrorKind::unavailable, "it is away"};
    for (const WriterTask* task : work.tasks) {
      if (Result<void> done = (*task)(); !done) return done;
    }
    const Spool::Taken taken = work.spool.take(work.end, [&](std::string_view record) {
      place_.records.emplace_back(record);
      return true;
    });
    trouble.tell_of_unreadable(taken.unreadable, work.spool.file().path());
    return {};
  }
  void give_up() override { ++place_.given_up; }
  Result<void> tend(bool) override {
    if (place_.chore_throws.exchange(false)) throw std::bad_alloc();
    if (place_.chores > 0) --place_.chores;
    return {};
  }
  [[nodiscard]] SteadyTime next_due() const override {
    return place_.chores > 0 ? SteadyTime() : SteadyTime::max();
  }
  [[nodiscard]] std::optional<RecordView> view(std::string_view record) const override {
    return view_of(record);
  }

 private:
  Place& place_;
};

struct Written {
  test::TempDir dir;
  test::ManualClock clock;
  test::CapturedLog log;
  Place place;
  std::unique_ptr<SpooledWriter> writer;

  Written() { start(); }
  ~Written() { disk_fails = false; }

  void start() {
    auto started = SpooledWriter::start({.name = "fake",
                                         .where = "fake",
                                         .prefix = dir / "jobs",
                                         .spool_bytes = 65536,
                                         .most_pause = std::chrono::milliseconds(200)},
                                        clock, std::make_unique<FakeSink>(place));
    REQUIRE_MESSAGE(started.ok(), started.error().message);
    writer = *std::move(started);
  }
  void fail(bool fails) {
    const std::lock_guard lock(place.mutex);
    place.fails = fails;
  }
  [[nodiscard]] Records records() {
    const std::lock_guard lock(place.mutex);
    return place.records;
  }
  [[nodiscard]] std::size_t files() const {
    const std::filesystem::directory_iterator files(dir.path());
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
};

}  // namespace

TEST_CASE("what a sync of the spool lost is written anew before anybody is told that it is on the disk") {
  Written jobs;
  jobs.fail(true);
  CHECK(jobs.writer->append_durably("on the disk"));
  disk_fails = true;
  CHECK_FALSE(jobs.writer->settle().ok());
  disk_fails = false;
  REQUIRE(pages_lost);  // and the system would not tell of it again
  CHECK(jobs.writer->append_durably("on the disk, too"));
  CHECK_FALSE(pages_lost);
}

TEST_CASE("after a sync of a spool that failed all fail, until everything in it was written anew") {
  const test::TempDir dir;
  const auto file = *SpoolFile::create(dir / "jobs", 65536);
  CHECK(file->sync());
  disk_fails = true;
  CHECK_FALSE(file->sync().ok());
  disk_fails = false;
  CHECK_FALSE(file->sync().ok());  // although the system says that all is there
  file->write_anew();
  CHECK(file->sync());
}

TEST_CASE("a sink that has a lot to tend to does not make the writer look for spools each time") {
  Written jobs;
  jobs.writer.reset();
  std::atomic<int> looks{0};
  before_lock = [&] { ++looks; };
  jobs.place.chores = 200;
  jobs.start();
  while (jobs.place.chores > 0) CHECK(jobs.writer->run(Durability::grouped, [] { return Result<void>(); }));
  jobs.writer.reset();
  before_lock = nullptr;
  CHECK(looks > 0);
  CHECK(looks < 10);
}

TEST_CASE("a job that was refused because the disk did not take it is not written later either") {
  Written jobs;
  jobs.fail(true);
  jobs.writer->append("soon");
  disk_fails = true;
  const Result<void> refused = jobs.writer->append_durably("refused");
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(refused.error().message.find("is not on the disk: Input/output error") != std::string::npos);
  jobs.writer->append("later");
  jobs.fail(false);
  CHECK(jobs.writer->flush());
  CHECK(jobs.records() == Records{"soon", "later"});
}

TEST_CASE("a task that throws fails alone, and the writer goes on") {
  const Written jobs;
  const Result<void> done =
      jobs.writer->run(Durability::grouped, []() -> Result<void> { throw std::bad_alloc(); });
  REQUIRE_FALSE(done.ok());
  CHECK(done.error().kind == ErrorKind::unavailable);
  CHECK(done.error().message == "The job cache fake cannot be used now: std::bad_alloc.");
  CHECK(jobs.writer->run(Durability::durable, [] { return Result<void>(); }));
}

TEST_CASE("a sink that throws where it does what is due gives that up, and the writer goes on") {
  Written jobs;
  jobs.place.chore_throws = true;
  const auto run = [&] { return jobs.writer->run(Durability::grouped, [] { return Result<void>(); }); };
  CHECK(run());
  CHECK(run());  // which comes after the chore of the one before
  CHECK(jobs.place.given_up == 1);
  CHECK(jobs.log.has("fake cannot be written: std::bad_alloc"));
  jobs.writer->append("later");
  CHECK(jobs.writer->flush());
  CHECK(jobs.records() == Records{"later"});
}

TEST_CASE("however many processes end with jobs that wait, they leave some spools, and all jobs are found") {
  Written jobs;
  jobs.fail(true);
  Records told;
  for (int i = 0; i < 40; ++i) {
    told.push_back(std::to_string(i));
    jobs.writer->append(told.back());
    jobs.writer.reset();
    CHECK(jobs.files() <= 16);
    jobs.start();
  }
  CHECK(jobs.log.has("processes ended with jobs that wait to be written; this one goes on with "));
  jobs.fail(false);
  CHECK(jobs.writer->flush());
  Records found = jobs.records();
  std::sort(found.begin(), found.end());
  std::sort(told.begin(), told.end());
  CHECK(found == told);
  CHECK(jobs.files() == 1);
}

TEST_CASE(
    "a spool that its process writes and leaves while another looks at it is not taken for an empty one") {
  const test::TempDir dir;
  dir.write("jobs-spool-abcdef", "");
  before_lock = [&] {
    before_lock = nullptr;
    dir.write("jobs-spool-abcdef", std::string(8192, '\0'));
  };
  const auto left = SpoolFile::left_behind(dir / "jobs");
  REQUIRE(left.size() == 1);
  CHECK(left[0]->size() == 8192);
}

}  // namespace rest_fcgi::returner
