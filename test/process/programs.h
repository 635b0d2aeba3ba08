// SPDX-License-Identifier: MIT
#pragma once

#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "../support/eventually.h"
#include "../support/temp_dir.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/process/program.h"

namespace rest_fcgi::process {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using How = Ended::How;

inline Program program(std::vector<std::string> argv) {
  ::signal(SIGPIPE, SIG_IGN);
  Program made;
  made.argv = std::move(argv);
  made.environment = {"PATH=/usr/bin:/bin"};
  return made;
}

inline Program shell(const std::string& text) {
  return program({"/bin/sh", "-c", text});
}

inline const ProgramRunner& runner() {
  static const ProgramRunner made(shipped("rest_fcgi_run"));
  return made;
}

inline Ended run(const Program& program, const std::stop_token& stop = {}) {
  Result<Ended> ended = runner().run(program, stop);
  if (!ended) FAIL(ended.error().message);
  return *std::move(ended);
}

inline Error failure(const Program& program) {
  return runner().run(program, {}).error();
}

#ifdef __SANITIZE_ADDRESS__
constexpr bool kLooksForLeaks = true;
#else
constexpr bool kLooksForLeaks = false;
#endif

/// Returns the pids of this process's child processes, including zombies, but without the etcd that tests
/// share. With LeakSanitizer, leaves out rest_fcgi_run, because LeakSanitizer leaves such processes behind.
inline std::set<std::string> children() {
  std::set<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (std::string pid; list >> pid;) {
      std::ifstream file("/proc/" + pid + "/comm");
      std::string name;
      std::getline(file, name);
      if (name != "etcd" && !(kLooksForLeaks && name == "rest_fcgi_run")) found.insert(pid);
    }
  }
  return found;
}

inline bool has_children() {
  return !test::eventually([] { return children().empty(); }, std::chrono::seconds(10));
}

inline bool is_alive(const std::string& pid) {
  if (::kill(std::stoi(pid), 0) != 0) return false;
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string id;
  std::string name;
  std::string state;
  stat >> id >> name >> state;
  return state != "Z";
}

inline bool ends_soon(const std::string& pid) {
  return test::eventually([&] { return !is_alive(pid); });
}

inline std::string first_line(const std::string& text) {
  REQUIRE(text.find('\n') != std::string::npos);
  return text.substr(0, text.find('\n'));
}

/// Stops a shell after it has written a line. The result has the shell's text.
inline Ended run_until_line(const std::string& text, milliseconds grace) {
  const test::TempDir dir;
  Program shown = shell("exec > said; " + text);
  shown.cwd = dir.path();
  shown.grace = grace;
  std::stop_source stop;
  const std::jthread stopper([&] {
    test::eventually([&] { return dir.read("said").find('\n') != std::string::npos; });
    stop.request_stop();
  });
  Ended ended = run(shown, stop.get_token());
  ended.output = dir.read("said");
  return ended;
}

}  // namespace rest_fcgi::process
