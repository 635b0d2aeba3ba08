// SPDX-License-Identifier: MIT
// A lower reference for a ping: bare.cc with the unavoidable work of a ping with eauth, audit lines and jobs
// in SQLite. It parses the body, hashes the password, checks the age of the password file, writes an audit
// line, and passes a job row to a thread that stores rows in groups. It checks nothing, and a crash loses
// unstored rows. A better design may be faster. Usage: least SOCKET THREADS FOLDER
#include <fcntl.h>
#include <simdjson.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <openssl/evp.h>

#include "bare.h"

namespace {

constexpr std::int64_t kFirstJob = 261'125'154'722'672'351;
constexpr std::int64_t kSaved = 1'795'621'642'672'375;  // us since 1970

void must(bool went, std::string_view what) {
  if (went) return;
  std::cerr << what << '\n';
  std::abort();
}

/// Stores job rows with the columns and size of the SQLite job cache, in groups of 25 ms.
class Rows {
 public:
  explicit Rows(const std::string& path) {
    must(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, "sqlite3_open");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = NORMAL");
    run(R"(CREATE TABLE job (jid INTEGER PRIMARY KEY, saved INTEGER, fun TEXT, arg TEXT, tgt TEXT,
        tgt_type TEXT, user TEXT, metadata TEXT, minions BLOB, returns BLOB, packing INTEGER))");
    run("CREATE INDEX job_fun ON job (fun)");
    const char* insert =
        R"(INSERT INTO job VALUES (?, ?, '"test.ping"', '[]', '"*"', 'glob', 'saltdev', NULL,
        x'046d732d30046d732d31046d732d32046d732d33046d732d34', x'10047472756518181818', 1))";
    must(sqlite3_prepare_v2(db_, insert, -1, &insert_, nullptr) == SQLITE_OK, "sqlite3_prepare_v2");
  }

  /// Returns the number of the job.
  std::int64_t add() {
    const std::lock_guard lock(mutex_);
    added_.push_back(++last_);
    return last_;
  }

  [[noreturn]] void store() {
    for (std::vector<std::int64_t> group;; group.clear()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      {
        const std::lock_guard lock(mutex_);
        group.swap(added_);
      }
      run("BEGIN");
      for (const std::int64_t number : group) {
        sqlite3_bind_int64(insert_, 1, number);
        sqlite3_bind_int64(insert_, 2, kSaved + number - kFirstJob);
        must(sqlite3_step(insert_) == SQLITE_DONE, "sqlite3_step");
        sqlite3_reset(insert_);
      }
      run("COMMIT");
    }
  }

 private:
  void run(const char* statement) {
    must(sqlite3_exec(db_, statement, nullptr, nullptr, nullptr) == SQLITE_OK, statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  std::mutex mutex_;
  std::vector<std::int64_t> added_;  // guarded by mutex_
  std::int64_t last_ = kFirstJob;    // guarded by mutex_
};

/// The state of one thread. The files of the folder outlive it.
class Ping {
 public:
  Ping(const std::string& folder, Rows& rows)
      : file_(folder + "/audit"),
        audit_(::open(file_.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)),
        rows_(rows) {
    must(audit_ >= 0, "open");
  }

  void answer(const char* body, std::size_t size) {
    const simdjson::dom::element low = parser_.parse(body, size, false).value().at(0).value();
    const std::string_view user = low["username"].get_string().value();
    const std::string_view fun = low["fun"].get_string().value();
    digest(low["password"].get_string().value());
    struct stat status {};
    ::stat(file_.c_str(), &status);  // any file will do
    line_ =
        "time=2026-11-25T15:47:22.672Z eauth=file remote_addr=127.0.0.1 client=local tgt=* outcome=ok "
        "ms=0.074";
    line_.append(" user=").append(user).append(" fun=").append(fun);
    line_.append(" jid=20").append(std::to_string(rows_.add())).append("\n");
    must(::write(audit_, line_.data(), line_.size()) > 0, "write");
  }

 private:
  void digest(std::string_view password) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    EVP_DigestInit_ex(context_.get(), sha256_, nullptr);
    EVP_DigestUpdate(context_.get(), out.data(), out.size());  // length of a key
    EVP_DigestUpdate(context_.get(), password.data(), password.size());
    EVP_DigestFinal_ex(context_.get(), out.data(), nullptr);
  }

  const std::string file_;
  const int audit_;
  Rows& rows_;
  simdjson::dom::parser parser_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  EVP_MD* const sha256_ = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::string line_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: least SOCKET THREADS FOLDER\n";
    return EXIT_FAILURE;
  }
  const std::string folder = argv[3];
  const int socket = bench::listen_at(argv[1]);
  Rows rows(folder + "/jobs.db");
  std::vector<std::jthread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    threads.emplace_back([&] {
      Ping ping(folder, rows);
      bench::serve(socket, [&ping](const char* body, std::size_t size) { ping.answer(body, size); });
    });
  }
  rows.store();
}
