// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "master/embedded/jobs/jobs.h"
#include "master/embedded/modules/loader.h"

namespace rest_fcgi::test {

/// Runs Salt's execution functions on one minion of the embedded engine. The arguments of a function are JSON
/// text. Not synchronized.
class Execution {
 public:
  explicit Execution(std::string_view grains = "{}", const embedded::ModuleOptions& options = {}) {
    minion_.id = "ms-0";
    auto modules = embedded::Modules::make(options);
    REQUIRE(modules);
    modules_ = *std::move(modules);
    REQUIRE(minion_.grains.parse(grains).ok());
  }

  void set_pillar(std::string_view pillar) { REQUIRE(minion_.pillar.parse(pillar).ok()); }

  /// Runs an execution function and waits for its return. REQUIRES: `args` is a JSON array, and `kwargs` is a
  /// JSON object.
  master::Return run(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}",
                     std::stop_token stop = {}) {
    JsonDocument arg_document;
    JsonDocument kwarg_document;
    REQUIRE(arg_document.parse(args).ok());
    REQUIRE(kwarg_document.parse(kwargs).ok());
    lowstate::Function called{fun, {}, {}};
    for (const JsonValue value : arg_document.root().elements()) called.args.push_back(value);
    for (const JsonMember member : kwarg_document.root().members()) called.kwargs.push_back(member);
    const embedded::JobContext job{"20260101000000000001", fun, "saltdev", "glob", "", "\"*\"", called};
    return embedded::execute({*modules_, jobs_}, minion_, fun, called.args, called.kwargs, job, stop);
  }

  [[nodiscard]] const embedded::Modules& modules() const noexcept { return *modules_; }

  std::string ret(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}") {
    return run(fun, args, kwargs).ret.text();
  }

  /// Returns the first line of a function's text, without quotes.
  std::string sentence(std::string_view fun, std::string_view args = "[]", std::string_view kwargs = "{}") {
    const std::string text = ret(fun, args, kwargs);
    JsonDocument document;
    REQUIRE(document.parse(text).ok());
    const std::string_view whole = document.root().text();
    return std::string(whole.substr(0, whole.find('\n')));
  }

 private:
  std::shared_ptr<const embedded::Modules> modules_;
  const std::shared_ptr<store::Store> store_ = *store::Store::open({});
  embedded::Jobs jobs_{*returner::Returners::make({}, store_, system_clock()), store_, system_clock()};
  embedded::Minion minion_;
};

inline void check(const master::Return& outcome, std::string_view ret, int retcode) {
  CHECK(outcome.ret.text() == ret);
  CHECK(outcome.retcode == retcode);
  CHECK(outcome.success == (retcode == 0));
}

}  // namespace rest_fcgi::test
