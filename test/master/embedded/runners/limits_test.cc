// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <doctest/doctest.h>

#include "master/embedded/runners/runners.h"
#include "rest_fcgi/core/format.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;

namespace {

/// A second passes whenever somebody looks.
class HurriedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return system_clock().wall(); }
  [[nodiscard]] SteadyTime steady() const override { return SteadyTime(std::chrono::seconds(++looks_)); }

 private:
  mutable std::atomic<int> looks_ = 0;
};

/// What functions on the master work with, and no master.
struct World {
  /// Of a call with one argument.
  [[nodiscard]] Error failure(const MasterFunction* function, std::string_view name, std::string_view value) {
    REQUIRE(function != nullptr);
    lowstate::MasterArguments arguments;
    REQUIRE(arguments.document.parse(format(R"({{"{}": "{}"}})", name, value)));
    for (const JsonMember member : arguments.document.root().members()) arguments.kwargs.push_back(member);
    const auto bound = function->bind(arguments);
    REQUIRE(bound);
    const auto done = function->run({*minions, *modules, config, keys, jobs, stop}, *bound);
    REQUIRE_FALSE(done);
    return done.error();
  }

  void keep_jobs(int count, const Json& arg) {
    for (int i = 0; i < count; ++i) {
      returner::Load load;
      load.jid = format("202611202306100437{:02}", i);
      load.fun = load.tgt = Json::string("x");
      load.arg = arg;
      REQUIRE(jobs.cache().save_load(std::move(load), returner::Durability::durable));
    }
  }

  const std::shared_ptr<const Minions> minions = *Minions::make({});
  const std::shared_ptr<const Modules> modules = *Modules::make({});
  const Json config = Json::empty_object();
  const HurriedClock clock{};
  const std::stop_token stop{};
  MadeKeys keys;
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  Jobs jobs{*returner::Returners::make({.max_bytes = std::size_t{128} << 20}, store, system_clock()), store,
            clock};
};

}  // namespace

TEST_CASE("a search of the job cache that takes too long ends, and says what narrows it") {
  World world;
  world.keep_jobs(10, Json::trusted("[]"));
  const Error late = world.failure(find_runner("jobs.list_jobs"), "search_function", "x");
  CHECK(late.kind == ErrorKind::timeout);
  CHECK(late.message ==
        "The search took too long; 'limit', 'after', 'before', 'start_time' and 'end_time' narrow it");
}

TEST_CASE("a search of the job cache that finds too much ends, and says what narrows it") {
  World world;
  world.keep_jobs(2, Json::string(std::string(33 << 20, 'x')));
  const Error much = world.failure(find_runner("jobs.list_jobs"), "search_function", "x");
  CHECK(much.kind == ErrorKind::invocation);
  CHECK(much.message ==
        "The list has more than 64 MiB; 'limit', 'after', 'before', 'start_time' and 'end_time' narrow it");
}

TEST_CASE("no more keys are made than are kept, and the caller reads what makes room") {
  World world;
  for (std::size_t i = 0; i < MadeKeys::kMost; ++i) {
    REQUIRE(world.keys.add(std::to_string(i), {}, false) == MadeKeys::Added::yes);
  }
  const Error full = world.failure(find_wheel("key.gen_accept"), "id_", "more");
  CHECK(full.kind == ErrorKind::invocation);
  CHECK(full.message == "1000 keys were made; key.delete makes room");
}
