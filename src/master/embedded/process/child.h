// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <span>

namespace rest_fcgi::embedded {

/// What a child process does before it failed.
enum class ChildStep : int { descriptors, identity, folder, exec };

/// What a child process writes to `ChildPlan::report` where it cannot become the program.
struct ChildFailure {
  ChildStep step = ChildStep::descriptors;
  int error = 0;  ///< errno
};

/// All that a child process needs between fork and exec, made ready before the fork. Borrows.
struct ChildPlan {
  const char* const* candidates = nullptr;  ///< paths of the program, tried in turn; ends with null
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* cwd = nullptr;
  mode_t umask = 0;
  bool change_identity = false;  ///< only then the next three count
  uid_t uid = 0;
  gid_t gid = 0;
  std::span<const gid_t> groups = {};
  int input = -1;  ///< this and the next three: not 0, 1 or 2
  int output = -1;
  int errors = -1;
  int report = -1;  ///< closes when the program runs
};

/// Becomes the program: leader of a session and process group of its own, without a terminal, with default
/// signals, and with no other descriptors than the three standard ones. Calls nothing but async-signal-safe
/// functions, since other threads' locks may be held for ever here.
///
/// REQUIRES: called by a child process right after fork, all signals blocked.
[[noreturn]] void become_program(const ChildPlan& plan) noexcept;

}  // namespace rest_fcgi::embedded
