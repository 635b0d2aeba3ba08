// SPDX-License-Identifier: MIT
#include "client/gatherer.h"

#include <doctest/doctest.h>

using rest_fcgi::SteadyTime;
using rest_fcgi::client::JobWait;
using Step = JobWait::Step;

namespace {

SteadyTime at(double seconds) {
  return SteadyTime(std::chrono::hours(1)) + std::chrono::milliseconds(static_cast<int>(seconds * 1000));
}

JobWait job(const std::vector<std::string>& minions) {
  return {minions, {std::chrono::seconds(2), std::chrono::seconds(10)}, at(0)};
}

JobWait job_with_syndics(const std::vector<std::string>& minions) {
  return {minions, {std::chrono::seconds(2), std::chrono::seconds(10), std::chrono::seconds(5)}, at(0)};
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("CVE-2022-22936: a second return and that of another minion are ignored") {
  JobWait pending = job({"a"});
  CHECK(!pending.returned("x"));
  CHECK(pending.returned("a"));
  CHECK(!pending.returned("a"));
}

TEST_CASE("salt#62452: a job is given up when no minion says in time that it runs") {
  JobWait pending = job({"a", "b"});
  pending.asked(at(2));
  CHECK(pending.step(at(11.9)) == Step::wait);
  CHECK(pending.due(at(11.9)) == at(12));
  CHECK(pending.step(at(12)) == Step::give_up);
}

TEST_CASE("minions are asked again while one says that the job runs") {
  JobWait pending = job({"a", "b"});
  pending.asked(at(2));
  pending.runs("a", at(2.2));
  CHECK(pending.step(at(11.9)) == Step::wait);
  CHECK(pending.step(at(12)) == Step::ask);
  pending.asked(at(12));
  CHECK(pending.step(at(22)) == Step::give_up);
}

TEST_CASE("a late yes of a minion starts its timeout again") {
  JobWait pending(Ids{"a", "b"}, {std::chrono::seconds(20), std::chrono::seconds(1)}, at(0));
  pending.asked(at(20));
  pending.runs("a", at(20.5));
  CHECK(pending.step(at(21)) == Step::ask);
  pending.asked(at(21));
  CHECK(pending.step(at(22)) == Step::wait);
  CHECK(pending.due(at(22)) == at(40.5));
  CHECK(pending.step(at(40.5)) == Step::give_up);
}

TEST_CASE("with syndics a job waits for them to name minions") {
  JobWait pending = job_with_syndics({});
  CHECK_FALSE(pending.done(at(4.9)));
  CHECK(pending.step(at(4.9)) == Step::wait);
  CHECK(pending.due(at(1)) == at(5));
  CHECK(pending.done(at(5)));
  CHECK(pending.step(at(5)) == Step::give_up);
  CHECK(pending.waiting().empty());
}

TEST_CASE("answers through syndics have more time") {
  JobWait pending = job_with_syndics({"a"});
  pending.asked(at(2));
  CHECK(pending.step(at(16.9)) == Step::wait);
  CHECK(pending.step(at(17)) == Step::give_up);
}
