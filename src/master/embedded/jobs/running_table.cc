// SPDX-License-Identifier: MIT
#include "master/embedded/jobs/running_table.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "master/embedded/text.h"
#include "rest_fcgi/store/process.h"

// A row of the table `running_job` is (jid, pid, start, job). The process `pid` runs the job. `start` is the
// start time of the process, because a later process may have the same pid. `job` is JSON:
//   {"fun", "arg", "tgt", "tgt_type", "user", "metadata", "ret", "minions": [...]}
// `metadata` may be missing. A row whose process has ended is an orphan. A row of `kill_request` is (jid,
// minion), and exists only together with the row of its job.

namespace rest_fcgi::embedded {
namespace {

using store::Connection;
using store::Row;

constexpr const char* kAdd = "INSERT OR REPLACE INTO running_job (jid, pid, start, job) VALUES (?, ?, ?, ?)";
constexpr const char* kRemove = "DELETE FROM running_job WHERE jid = ? AND pid = ? AND start = ?";
constexpr const char* kOthers =
    "SELECT jid, pid, start, job FROM running_job WHERE pid <> ? OR start <> ? ORDER BY jid";
constexpr const char* kRequestKill =
    "INSERT INTO kill_request (jid, minion) SELECT jid, ?2 FROM running_job WHERE jid = ?1"
    " ON CONFLICT DO NOTHING";
constexpr const char* kKillRequests =
    "SELECT jid, minion FROM kill_request JOIN running_job USING (jid) WHERE pid = ? AND start = ?";

ActiveJob job_in(const Row& row) {
  const JsonDocument document = own_document(Json::trusted(std::string(row.text(3))));
  const JsonValue load = document.root();
  ActiveJob job;
  job.pid = static_cast<pid_t>(row.number(1));
  job.load.jid = row.text(0);
  job.load.fun = member_of(load, "fun").json();
  job.load.arg = member_of(load, "arg").json();
  job.load.tgt = member_of(load, "tgt").json();
  job.load.tgt_type = member_of(load, "tgt_type").text();
  job.load.user = member_of(load, "user").text();
  if (const auto metadata = load.find("metadata")) job.load.metadata = metadata->json();
  job.ret = member_of(load, "ret").text();
  for (const JsonValue minion : member_of(load, "minions").elements()) {
    job.load.minions.emplace_back(minion.text());
  }
  return job;
}

}  // namespace

RunningTable::RunningTable(std::shared_ptr<store::Store> store)
    : store_(std::move(store)), pid_(::getpid()), start_(store::start_of(::getpid())) {}

Result<void> RunningTable::add(const returner::Load& load, std::string_view ret) {
  const Json job = written_object([&](JsonWriter& writer) {
    writer.key("fun").json(load.fun).key("arg").json(load.arg);
    writer.key("tgt").json(load.tgt).key("tgt_type").string(load.tgt_type).key("user").string(load.user);
    if (load.metadata) writer.key("metadata").json(*load.metadata);
    write_strings(writer.key("ret").string(ret).key("minions"), load.minions);
  });
  return store_->execute(kAdd, load.jid, pid_, start_, job.text()).without_value();
}

void RunningTable::remove(std::string_view jid) {
  static_cast<void>(store_->execute(kRemove, jid, pid_, start_));
}

std::vector<RunningTable::Entry> RunningTable::others() const {
  std::vector<Entry> entries;
  const auto take = [&](const Row& row) {
    entries.push_back({job_in(row), row.number(2), false});
    return true;
  };
  static_cast<void>(store_->read([&](Connection& from) { return from.each(kOthers, take, pid_, start_); }));
  std::map<pid_t, std::int64_t> starts;
  for (Entry& entry : entries) {
    const auto [start, is_new] = starts.try_emplace(entry.job.pid);
    if (is_new) start->second = store::start_of(entry.job.pid);
    entry.is_gone = store::is_gone(entry.job.pid, entry.start, start->second);
  }
  return entries;
}

Result<bool> RunningTable::drop(const Entry& entry) {
  const auto removed = store_->execute(kRemove, entry.job.load.jid, std::int64_t{entry.job.pid}, entry.start);
  return removed ? Result(*removed > 0) : removed.error();
}

Result<void> RunningTable::request_kill(std::string_view jid, std::string_view minion) {
  return store_->execute(kRequestKill, jid, minion).without_value();
}

std::vector<RunningTable::KillRequest> RunningTable::kill_requests() const {
  std::vector<KillRequest> requests;
  const auto take = [&](const Row& row) {
    requests.push_back({std::string(row.text(0)), std::string(row.text(1))});
    return true;
  };
  static_cast<void>(
      store_->read([&](Connection& from) { return from.each(kKillRequests, take, pid_, start_); }));
  return requests;
}

}  // namespace rest_fcgi::embedded
