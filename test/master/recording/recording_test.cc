// SPDX-License-Identifier: MIT
#include "rest_fcgi/master/recording/recording.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "../../client/admitted.h"
#include "../../support/fake_master.h"
#include "../../support/returners.h"
#include "master/recording/recorder.h"

using namespace rest_fcgi;
using namespace rest_fcgi::test;
using master::Publication;
using What = Publication::What;

namespace {

constexpr std::string_view kPing = R"("client": "local", "tgt": "*", "fun": "test.ping", "arg": [1],
                                      "kwarg": {"a": 2}, "metadata": {"ticket": 5})";

/// A recorder in front of a FakeMaster, with a job cache in memory.
class Recorded {
 public:
  explicit Recorded(std::size_t max_jobs = 100, recording::Caches::Limits limits = {}) {
    returner::Options options;
    options.ext_job_cache = {"memory"};
    auto returners = test::make_returners(options);
    cache = returners->ext_job_caches().at(0);
    recorder = std::make_shared<recording::Recorder>(
        std::make_shared<recording::Caches>(std::move(returners), limits), system_clock(), max_jobs);
    master = recording::make_master(fake, recorder);
  }

  [[nodiscard]] std::vector<std::string> returned_to(std::string_view jid) const {
    flush();
    const auto returns = cache->get_jid(jid);
    REQUIRE(returns);
    std::vector<std::string> minions;
    for (const returner::JobReturn& ret : *returns) minions.push_back(ret.minion);
    return minions;
  }

  master::Job publish(const Publication& publication = {},
                      FakeMaster::Returns returns = std::make_shared<master::Returns>()) const {
    const Admitted admitted(*fake, kPing);
    const auto job = master->publish(admitted.permit(), publication, std::move(returns));
    REQUIRE(job);
    return *job;
  }

  master::Job publish_async() const {
    const Admitted admitted(*fake, R"("client": "local_async", "tgt": "*", "fun": "test.ping")");
    const auto job = master->publish_async(admitted.permit());
    REQUIRE(job);
    return *job;
  }

  /// Makes minions silent. `kept` gets, for each minion, the object that waits for its return.
  void keep_returns(std::vector<std::weak_ptr<master::Addressee>>& kept) const {
    fake->on_minion = [&kept](const std::string&, const Publication&, const std::string&,
                              const FakeMaster::Returns& returns) { kept.push_back(returns); };
  }

  void flush() const {
    REQUIRE(recorder->flush(std::chrono::steady_clock::now() + std::chrono::seconds(30)));
  }

  [[nodiscard]] std::optional<returner::Load> load_of(std::string_view jid) const {
    flush();
    auto load = cache->get_load(jid);
    REQUIRE(load);
    return *std::move(load);
  }

  const std::shared_ptr<FakeMaster> fake = std::make_shared<FakeMaster>();
  returner::Returner* cache = nullptr;
  std::shared_ptr<recording::Recorder> recorder;
  std::shared_ptr<master::Master> master;
};

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(Recorded, "a published job is recorded with its load and returns, and delivered") {
  const auto returns = std::make_shared<master::Returns>();
  const master::Job job = publish({}, returns);
  for (const std::string& minion : job.minions) {
    const auto delivery = returns->take(SteadyTime::max());
    REQUIRE(delivery);
    CHECK(std::get<master::Return>(*delivery).minion == minion);
  }
  const auto load = load_of(job.jid);
  REQUIRE(load);
  CHECK(load->fun.text() == R"("test.ping")");
  CHECK(load->arg.text() == R"([1, {"a": 2, "__kwarg__": true}])");
  CHECK(load->tgt.text() == R"("*")");
  CHECK(load->tgt_type == "glob");
  CHECK(load->user == "saltdev");
  CHECK(load->metadata->text() == R"({"ticket": 5})");
  CHECK(load->minions == Strings{"ms-0", "ms-1", "ms-2"});
  CHECK(returned_to(job.jid) == Strings{"ms-0", "ms-1", "ms-2"});
}

TEST_CASE_FIXTURE(Recorded, "returns that come with the job are recorded and delivered") {
  fake->at_once = {"1", "2"};
  const auto returns = std::make_shared<master::Returns>();
  const master::Job job = publish({}, returns);
  CHECK(job.returned.empty());
  for (const char* minion : {"ms-2", "ms-0", "ms-1"}) {
    const auto delivery = returns->take(SteadyTime::max());
    REQUIRE(delivery);
    CHECK(std::get<master::Return>(*delivery).minion == minion);
  }
  CHECK(returned_to(job.jid).size() == 3);
}

TEST_CASE_FIXTURE(Recorded, "returns after the end of the wait are recorded") {
  std::weak_ptr<master::Addressee> kept;
  fake->on_minion = [&](const std::string& minion, const Publication&, const std::string&,
                        const FakeMaster::Returns& returns) {
    if (minion != "ms-2") return returns->put(returned(minion));
    kept = returns;
  };
  const master::Job job = publish();
  CHECK(returned_to(job.jid) == Strings{"ms-0", "ms-1"});
  kept.lock()->put(returned("ms-2", "7"));
  CHECK(returned_to(job.jid) == Strings{"ms-0", "ms-1", "ms-2"});
}

TEST_CASE_FIXTURE(Recorded, "a step of a batch is recorded with its minions") {
  const master::Job job = publish({What::call, Strings{"ms-1"}, {}});
  const auto load = load_of(job.jid);
  CHECK(load->tgt.text() == R"(["ms-1"])");
  CHECK(load->tgt_type == "list");
}

TEST_CASE_FIXTURE(Recorded, "questions about minions and jobs are not recorded") {
  CHECK_FALSE(load_of(publish({What::ping, {}, {}}).jid));
}

TEST_CASE_FIXTURE(Recorded, "a job that was not published, or matched no minion, is not recorded") {
  fake->on_start = [](const std::string&) -> std::optional<Error> {
    return Error{ErrorKind::unavailable, "gone"};
  };
  const Admitted admitted(*fake, kPing);
  const auto refused = master->publish(admitted.permit(), {}, std::make_shared<master::Returns>());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message == "gone");
  fake->minions.clear();
  const master::Job nobody = publish();
  CHECK(nobody.jid.empty());
  flush();
  int jobs = 0;
  const auto count = [&](const returner::Load&) { return ++jobs > 0; };
  REQUIRE(cache->get_jids({}, count));
  CHECK(jobs == 0);
}

TEST_CASE_FIXTURE(Recorded, "the minions that a syndic names are expected, the syndic is not") {
  std::weak_ptr<master::Addressee> kept;
  fake->minions = {"syndic"};
  fake->on_minion = [&](const std::string&, const Publication&, const std::string&,
                        const FakeMaster::Returns& returns) {
    kept = returns;
    returns->put(master::MoreMinions{{"below-0", "below-1"}, {"syndic"}});
    returns->put(returned("below-0"));
  };
  const master::Job job = publish();
  const auto load = load_of(job.jid);
  Strings minions = load->minions;
  std::sort(minions.begin(), minions.end());
  CHECK(minions == Strings{"below-0", "below-1", "syndic"});
  CHECK(returned_to(job.jid) == Strings{"below-0"});
  kept.lock()->put(returned("below-1"));
  CHECK(returned_to(job.jid) == Strings{"below-0", "below-1"});
}

TEST_CASE("beyond the limit the oldest unfinished job is dropped") {
  for (const bool finishes : {false, true}) {
    const Recorded recorded(2);
    std::vector<std::weak_ptr<master::Addressee>> kept;
    recorded.fake->minions = {"ms-0"};
    recorded.keep_returns(kept);
    for (int i = 0; i < 2; ++i) recorded.publish_async();
    if (finishes) kept.at(1).lock()->put(returned("ms-0"));
    recorded.publish_async();
    CHECK(kept.at(0).expired() != finishes);
    CHECK(kept.at(1).expired() == finishes);
    CHECK_FALSE(kept.at(2).expired());
  }
}

TEST_CASE("a job is recorded further after a loss of the event bus") {
  const Recorded recorded(1000);
  std::vector<std::weak_ptr<master::Addressee>> kept;
  recorded.keep_returns(kept);
  recorded.fake->minions = {"ms-0", "ms-1"};
  const master::Job job = recorded.publish_async();
  kept.at(0).lock()->put(returned("ms-0"));
  kept.at(0).lock()->put(Error{ErrorKind::unavailable, "the bus is lost"});
  for (int i = 0; i < 100; ++i) recorded.publish_async();
  const auto mailbox = kept.at(0).lock();
  REQUIRE(mailbox);
  mailbox->put(returned("ms-1"));
  CHECK(recorded.returned_to(job.jid) == Strings{"ms-0", "ms-1"});
}

TEST_CASE("a flush waits for a full queue") {
  const Recorded recorded(100, {.calls = 1, .bytes = 1000});
  std::promise<void> opened;
  const std::shared_future<void> gate = opened.get_future().share();
  for (int i = 0; i < 3; ++i) {
    recorded.recorder->caches()->call_later("1", 0, [gate](returner::Returner&) {
      gate.wait();
      return Result<void>();
    });
  }
  const auto at_once = recorded.recorder->flush(SteadyTime::min());
  CHECK(at_once.error().message == "ext_job_cache: not all waiting jobs and returns were saved in time");
  auto flushed = std::async(std::launch::async, [&] {
    return recorded.recorder->flush(system_clock().steady() + std::chrono::seconds(60));
  });
  opened.set_value();
  CHECK(flushed.get());
}

TEST_CASE("a full queue drops calls, and accepts later calls") {
  const Recorded recorded(100, {.calls = 100, .bytes = 200});
  recorded.fake->minions = {"ms-0"};
  recorded.fake->on_minion = [](const std::string& minion, const Publication&, const std::string&,
                                const FakeMaster::Returns& returns) {
    returns->put(returned(minion, '"' + std::string(1000, 'x') + '"'));
  };
  const master::Job large = recorded.publish();
  CHECK(recorded.load_of(large.jid));
  CHECK(recorded.returned_to(large.jid).empty());
  recorded.fake->on_minion = nullptr;
  const master::Job small = recorded.publish();
  CHECK(recorded.returned_to(small.jid) == Strings{"ms-0"});
}
