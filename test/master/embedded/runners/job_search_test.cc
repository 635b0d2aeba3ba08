// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <doctest/doctest.h>

#include "master/embedded/runners/runners.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"

using namespace rest_fcgi;
using namespace rest_fcgi::embedded;

namespace {

/// A clock whose steady time advances by one second at each reading.
class HurriedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return system_clock().wall(); }
  [[nodiscard]] SteadyTime steady() const override { return SteadyTime(std::chrono::seconds(++looks_)); }

 private:
  mutable std::atomic<int> looks_ = 0;
};

struct World {
  [[nodiscard]] Error failure(const MasterFunction* function, std::string_view name, std::string_view value) {
    REQUIRE(function != nullptr);
    lowstate::MasterArguments arguments;
    REQUIRE(arguments.document.parse(format(R"({{"{}": "{}"}})", name, value)));
    for (const JsonMember member : arguments.document.root().members()) arguments.kwargs.push_back(member);
    const auto bound = function->bind(arguments);
    REQUIRE(bound);
    const auto done = function->run({data, jobs, stop}, *bound);
    REQUIRE_FALSE(done);
    return done.error();
  }

  void save_jobs(int count, const Json& arg) {
    for (int i = 0; i < count; ++i) {
      returner::Load load;
      load.jid = format("202611202306100437{:02}", i);
      load.fun = load.tgt = Json::string("x");
      load.arg = arg;
      REQUIRE(jobs.cache().save_load(std::move(load), returner::Durability::durable));
    }
  }

  const MasterData data{*Minions::make({}), *Modules::make({}), Json::empty_object(),
                        std::make_shared<GeneratedKeys>()};
  const HurriedClock clock{};
  const std::stop_token stop{};
  const std::shared_ptr<store::Store> store = *store::Store::open({});
  Jobs jobs{*returner::Returners::make({.max_bytes = std::size_t{128} << 20}, store, system_clock()), store,
            clock};
};

}  // namespace

TEST_CASE("a search that takes too long or finds too much ends with an error") {
  World world;
  world.save_jobs(10, Json::trusted("[]"));
  const Error late = world.failure(find_runner("jobs.list_jobs"), "search_function", "x");
  CHECK(late.kind == ErrorKind::timeout);
  CHECK(late.message.find("'limit'") != std::string::npos);
  World large;
  large.save_jobs(2, Json::string(std::string(33 << 20, 'x')));
  const Error much = large.failure(find_runner("jobs.list_jobs"), "search_function", "x");
  CHECK(much.kind == ErrorKind::invocation);
  CHECK(much.message.find("64 MiB") != std::string::npos);
}

TEST_CASE("the number of generated keys is limited") {
  World world;
  for (std::size_t i = 0; i < GeneratedKeys::kMaxKeys; ++i) {
    REQUIRE(world.data.keys->add(std::to_string(i), {}, false) == GeneratedKeys::Added::yes);
  }
  const Error full = world.failure(find_wheel("key.gen_accept"), "id_", "more");
  CHECK(full.kind == ErrorKind::invocation);
  CHECK(full.message.find("key.delete") != std::string::npos);
}

TEST_CASE("parse_time reads all forms of times, and refuses other text") {
  const std::pair<const char*, const char*> rows[] = {
      {"20261120230610043746", "20261120230610043746"},
      {"2026-11-20", "20261120000000000000"},
      {"2026-11-20 23:06", "20261120230600000000"},
      {"2026-11-20T23:06:10", "20261120230610000000"},
      {"2026-11-20 9:06:10.5", "20261120090610500000"},
      {"2026, Nov 20 23:06:10.043746", "20261120230610043746"},
      {"2026, Mar 6 19:00", "20260306190000000000"},
      {"2026, Nov 20", "20261120000000000000"}};
  for (const auto& row : rows) CHECK_MESSAGE(jid_at(parse_time(row.first).value()) == row.second, row.first);
  for (const char* text :
       {"", "now", "2026", "2026-13-01", "2026-02-30", "2026-11-20 ", "2026-11-20 25:00", "2026-11-20 1",
        "2026-11-20 10:00:00.", "2026-11-20 10:00 x", "2026, Foo 20", "2026, Nov", "26-11-20"}) {
    CHECK_FALSE_MESSAGE(parse_time(text).has_value(), text);
  }
}
