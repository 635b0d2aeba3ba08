// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "master/embedded/minion.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::embedded {

class Jobs;
class Modules;

/// What the functions of one configuration may use of the engine that runs them. Borrows.
struct Engine {
  const Modules& modules;
  Jobs& jobs;
};

/// What a function call needs to know about the job that it is part of; Salt hands it to functions that take
/// `**kwargs` as `__pub_fun`, `__pub_arg` and so on. Borrows.
struct JobContext {
  std::string_view jid;
  std::string_view fun;  ///< the function called (each one's own name in a compound job)
  std::string_view user;
  std::string_view tgt_type;
  std::string_view ret;
  std::string_view tgt_json;  ///< the chunk's `tgt` as JSON text
  std::string_view
      arg_json;  ///< positional arguments, then the keyword arguments as one object, as JSON text
};

/// What a function gave on one minion.
struct Outcome {
  Json ret;
  int retcode = 0;
  bool success = true;
  std::string out;  ///< outputter; empty: none
};

/// Runs one execution function on one minion, with a minion's own texts for what goes wrong: no such
/// function, arguments that do not fit, an exception. Never fails itself. Thread-safe. A function that takes
/// its time ends early when `stop` is requested, and then says so in its return.
[[nodiscard]] Outcome execute(const Engine& engine, const Minion& minion, std::string_view fun,
                              std::span<const JsonValue> args, std::span<const JsonMember> kwargs,
                              const JobContext& job, const std::stop_token& stop);

}  // namespace rest_fcgi::embedded
