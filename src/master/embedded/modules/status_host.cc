// SPDX-License-Identifier: MIT
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utmpx.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <set>
#include <sstream>
#include <string>

#include "master/embedded/host/host_text.h"
#include "master/embedded/host/mounts.h"
#include "master/embedded/host/processes.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/modules/search.h"
#include "master/embedded/modules/status_module.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/pattern.h"

namespace rest_fcgi::embedded::status_module {
namespace {

/// The mount points of the file systems whose type matches one of the patterns.
void select_by_type(std::set<std::string>& selected, const std::set<std::string>& patterns) {
  for (const Mount& mount : host_mounts()) {
    for (const std::string& pattern : patterns) {
      if (glob_match(pattern, mount.type)) selected.insert(mount.point);
    }
  }
}

/// False where the file system cannot be asked.
bool write_usage(JsonWriter& writer, const std::string& path) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) != 0) return false;
  writer.key(path).begin_object();
  writer.key("available").integer(static_cast<std::int64_t>(status.f_bavail * status.f_bsize));
  writer.key("total").integer(static_cast<std::int64_t>(status.f_blocks * status.f_bsize));
  writer.end_object();
  return true;
}

/// How many are logged in. Not getutxent, whose position all threads share.
std::int64_t logged_in() {
  const std::string records = read_text("/run/utmp").value_or("");
  std::int64_t users = 0;
  for (std::size_t at = 0; at + sizeof(utmpx) <= records.size(); at += sizeof(utmpx)) {
    utmpx record{};
    records.copy(reinterpret_cast<char*>(&record), sizeof record, at);
    if (record.ut_type == USER_PROCESS) ++users;
  }
  return users;
}

std::string formatted(const std::tm& when, const std::string& pattern) {
  std::ostringstream text;
  text << std::put_time(&when, pattern.c_str());
  return text.str();
}

}  // namespace

Reply diskusage(const Call& call) {
  std::set<std::string> named;
  std::set<std::string> patterns;
  for (const JsonValue& value : call.varargs) {
    if (!value.is(JsonValue::Kind::string)) {
      return Raised{Raised::Kind::exception, "AttributeError",
                    format("'{}' object has no attribute 'startswith'", value.type_name())};
    }
    (value.text().starts_with('/') ? named : patterns).emplace(value.text());
  }
  if (call.varargs.empty()) patterns.insert("*");
  std::set<std::string> selected;
  select_by_type(selected, patterns);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  for (const std::string& path : named) {
    if (!write_usage(writer, path)) return os_error(errno, path);
    selected.erase(path);
  }
  // One that we may not look at is no reason to keep the others back.
  for (const std::string& path : selected) (void)write_usage(writer, path);
  writer.end_object();
  return Returned{Json::trusted(std::move(text))};
}

Reply loadavg(const Call&) {
  std::array<double, 3> load{};
  if (::getloadavg(load.data(), 3) != 3) return command_error("the kernel does not tell its load averages");
  return written([&load](JsonWriter& writer) {
    writer.begin_object();
    writer.key("1-min").number(load[0]).key("5-min").number(load[1]).key("15-min").number(load[2]);
    writer.end_object();
  });
}

Reply nproc(const Call&) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) == 0) return Returned{Json::integer(CPU_COUNT(&usable))};
  return Returned{Json::integer(::sysconf(_SC_NPROCESSORS_ONLN))};
}

Reply pid(const Call& call) {
  if (!call.arguments[0].is(JsonValue::Kind::string)) {
    return Raised::type_error("first argument must be string or compiled pattern");
  }
  const Result<Regex> pattern = search_pattern(call.arguments[0].text());
  if (!pattern) return Raised{Raised::Kind::exception, "error", pattern.error().message};
  std::string pids;
  for (const Process& process : host_processes()) {
    if (process.pid == ::getpid()) continue;
    const std::string line = format("{} {} {}", process.user, process.pid, process.command);
    if (pattern->match_start(line)) pids += format("{}{}", pids.empty() ? "" : "\n", process.pid);
  }
  return Returned{Json::string(pids)};
}

Reply procs(const Call&) {
  const std::vector<Process> processes = host_processes();
  return written([&processes](JsonWriter& writer) {
    writer.begin_object();
    for (const Process& process : processes) {
      writer.key(std::to_string(process.pid)).begin_object();
      writer.key("user").string(process.user).key("cmd").string(process.command).end_object();
    }
    writer.end_object();
  });
}

Reply time(const Call& call) {
  if (!call.arguments[0].is(JsonValue::Kind::string)) {
    return Raised::type_error(
        format("strftime() argument 1 must be str, not {}", call.arguments[0].type_name()));
  }
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return Returned{Json::string(formatted(local, std::string(call.arguments[0].text())))};
}

Reply uptime(const Call&) {
  using std::chrono::microseconds;
  const std::string text = read_text("/proc/uptime").value_or("");
  const auto words = words_of(text);
  if (words.empty()) return command_error("File /proc/uptime was not found.");
  const std::int64_t seconds = python_int(words[0].substr(0, words[0].find('.'))).value_or(0);
  const auto now =
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  const std::int64_t since = now.count() - seconds * 1'000'000;
  const std::time_t since_t = since / 1'000'000;
  std::tm utc{};
  ::gmtime_r(&since_t, &utc);
  return written([&](JsonWriter& writer) {
    writer.begin_object();
    writer.key("seconds").integer(seconds);
    writer.key("since_iso")
        .string(format("{}.{:06}", formatted(utc, "%Y-%m-%dT%H:%M:%S"), since % 1'000'000));
    writer.key("since_t").integer(since_t);
    writer.key("days").integer(seconds / 86400);
    writer.key("time").string(format("{}:{}", seconds % 86400 / 3600, seconds % 3600 / 60));
    writer.key("users").integer(logged_in());
    writer.end_object();
  });
}

}  // namespace rest_fcgi::embedded::status_module
