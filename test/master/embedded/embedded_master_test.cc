// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/embedded_engine.h"
#include "../../support/holds.h"
#include "../session_contract.h"

using namespace rest_fcgi;
using test::EmbeddedEngine;
using test::holds;
using What = master::Publication::What;

namespace {

constexpr const char* kPingAll = R"("client": "local", "tgt": "*", "fun": "test.ping")";

/// Checks an error about credentials or permissions. Only an authorization error has a user.
void check(const Error& error, ErrorKind kind, std::string_view user = "") {
  CHECK(error.kind == kind);
  CHECK(error.message == "Authorization error occurred.");
  CHECK(error.user == user);
  CHECK(error.eauth == (user.empty() ? "" : "sharedsecret"));
}

constexpr const char* kInterruptedText = "\"Job interrupted: the engine shut down before it ended.\"";

embedded::Options with_pillars() {
  embedded::Options options;
  options.minions = {{"ms-0", Json::empty_object(), Json::trusted(R"({"secret": "abc"})")},
                     {"ms-1", Json::empty_object(), Json::trusted(R"({"secret": "abd"})")},
                     {"ms-2", Json::empty_object(), Json::empty_object()}};
  options.nodegroups = {
      {"holders", {"I@secret:*"}}, {"outer", {"N@holders", "or", "ms-2"}}, {"plain", {"ms-1"}}};
  return options;
}

std::string local(std::string_view tgt, std::string_view type = "compound") {
  return format(R"("client": "local", "fun": "test.ping", "tgt": "{}", "tgt_type": "{}")", tgt, type);
}

/// Returns the ids of the minions in a job's target, or "refused" if the user may not run the job.
std::string reached(EmbeddedEngine& engine, std::string_view user, std::string_view members) {
  const auto permit = engine.master->admit(engine.chunk(members, user), EmbeddedEngine::soon());
  if (!permit) {
    CHECK(permit.error().kind == ErrorKind::authorization);
    return "refused";
  }
  const auto job = engine.master->publish(*permit, {}, std::make_shared<master::Returns>());
  REQUIRE(job);
  std::string ids;
  for (const std::string& id : job->minions) ids += id + " ";
  return ids;
}

struct Looks {
  const char* type;
  const char* matches;
  const char* does_not;
};
constexpr Looks kLooks[] = {
    {"pillar", "secret:a*", "secret:x*"},
    {"pillar_pcre", "secret:ab[cd]", "secret:x.*"},
    {"pillar_exact", "secret:abc", "secret:x"},
    {"compound", "I@secret:a*", "I@secret:x*"},
    {"compound", "J|@secret|ab.", "J@secret:x"},
    {"compound", "ms-0 and I@secret:abc", "ms-0 and I@secret:x"},
    {"compound", "* or I@secret:a*", "* or I@secret:x*"},
    {"compound", "not I@secret:x", "not I@secret:abc"},
    {"compound", "N@holders", "N@outer"},
    {"nodegroup", "outer", "holders"},
};

struct WithEngine {
  EmbeddedEngine engine;
};

}  // namespace

TEST_CASE_FIXTURE(WithEngine, "a call runs on the minions that its target matched at admission") {
  lowstate::Chunk chunk = engine.chunk(R"("client": "local", "tgt": "ms-[01]", "fun": "test.ping")", "ann");
  const auto permit = engine.master->admit(chunk, EmbeddedEngine::soon());
  REQUIRE(permit);
  std::get<lowstate::LocalCall>(chunk.call).target.expression = "*";
  const auto job = engine.master->publish(*permit, {}, std::make_shared<master::Returns>());
  REQUIRE(job);
  CHECK(job->minions == std::vector<std::string>{"ms-0", "ms-1"});
}

TEST_CASE("a caller with a wrong password learns nothing about targets, functions and clients") {
  EmbeddedEngine engine;
  for (const char* members :
       {kPingAll, R"("client": "local", "tgt": "web(", "tgt_type": "pcre", "fun": "test.ping")",
        R"("client": "runner", "fun": "nosuch.fun")"}) {
    check(engine.refusal(members, "fred", "wrong"), ErrorKind::authentication);
  }
  const char* const call = R"("client": "ssh", "tgt": "*", "fun": "test.ping")";
  CHECK(engine.refusal(call, "fred", "wrong").kind == ErrorKind::authentication);
  for (const Error& refused :
       {engine.refusal(call), engine.master->ssh(engine.permit(kPingAll), 1 << 20).error()}) {
    CHECK(refused.kind == ErrorKind::invocation);
    CHECK(holds(refused.message, "'ssh'"));
  }
}

TEST_CASE("a rule allows its functions for every client, and only targets that match no other minions") {
  EmbeddedEngine engine;
  for (const char* members :
       {kPingAll, R"("client": "runner", "fun": "manage.up")", R"("client": "runner", "fun": "nosuch.fun")",
        R"("client": "wheel", "fun": "key.list_all")"}) {
    CAPTURE(members);
    check(engine.refusal(members, "eve"), ErrorKind::authorization, "eve");
  }
  CHECK(engine.permit(kPingAll).eauth() == "sharedsecret");
  CHECK(engine.admits(R"("client": "runner", "fun": "manage.up")", "bob"));
  check(engine.refusal(R"("client": "runner_async", "fun": "manage.status")", "bob"),
        ErrorKind::authorization, "bob");
  const auto ping = [](const char* tgt) {
    return format(R"("client": "local", "tgt": "{}", "fun": "test.ping")", tgt);
  };
  CHECK(engine.admits(ping("ms-0"), "ann"));
  CHECK(engine.admits(ping("ms-[01]"), "ann"));
  for (const char* tgt : {"*", "ms-2", "nosuch", R"(web(", "tgt_type": "pcre)"})
    check(engine.refusal(ping(tgt), "ann"), ErrorKind::authorization, "ann");
}

TEST_CASE_FIXTURE(WithEngine, "rules see the values that a runner gets for texts of a call") {
  const auto arg = [](const char* text) {
    return R"("client": "runner", "fun": "test.arg", "arg": [")" + std::string(text) + "\"]";
  };
  CHECK(engine.admits(arg("98"), "dan"));
  for (const char* text : {"99", "0x63", "+99", "99 "}) {
    CHECK_MESSAGE(engine.refusal(arg(text), "dan").kind == ErrorKind::authorization, text);
  }
}

TEST_CASE("a wrong target in a rule is a configuration error with its place") {
  auth::Options auth;
  auth.allow_auto_eauth = true;
  auth.external_auth.push_back(
      {"auto", {}, {{"fred", {{"web* and (", {{"test.ping", {}}}, "/etc/salt/master:7"}}}}});
  auto authenticator = auth::Authenticator::make(auth, system_clock());
  auto permissions = auth::Permissions::make(auth.external_auth);
  REQUIRE(authenticator);
  REQUIRE(permissions);
  const EmbeddedEngine engine;
  const auto made =
      embedded::make_master({}, *std::move(authenticator), *std::move(permissions), engine.runtime);
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == ErrorKind::configuration);
  CHECK(made.error().message.starts_with("/etc/salt/master:7: external_auth: auto: fred: "));
}

TEST_CASE("an authorized caller gets the error of a wrong target or runner, but not of an unknown wheel") {
  EmbeddedEngine engine;
  const Error broken =
      engine.refusal(R"("client": "local", "tgt": "web(", "tgt_type": "pcre", "fun": "test.ping")");
  CHECK(broken.kind == ErrorKind::invocation);
  CHECK(holds(broken.message, "offset"));
  CHECK(engine.refusal(R"("client": "runner", "fun": "nosuch.fun")").kind == ErrorKind::unknown_runner);
  CHECK(engine.admits(R"("client": "wheel", "fun": "nosuch.fun")"));
}

TEST_CASE(
    "a malformed runner or wheel name is reported to a user with permission for it, and hidden from others") {
  EmbeddedEngine engine;
  const auto refusal = [&engine](std::string_view client, std::string_view fun, std::string_view user) {
    return engine.refusal(format(R"("client": "{}", "fun": "{}")", client, fun), user);
  };
  for (const char* client : {"runner", "runner_async", "wheel", "wheel_async"}) {
    for (const char* fun : {"manage", "key.list.all", ".up", "key.", "."}) {
      CAPTURE(client);
      CAPTURE(fun);
      const Error error = refusal(client, fun, "fred");
      CHECK(error.kind == ErrorKind::invocation);
      CHECK(holds(error.message, format("'{}'", fun)));
      CHECK(holds(error.message, "MODULE.FUNCTION"));
      CHECK(refusal(client, fun, "eve").kind == ErrorKind::authorization);
    }
  }
}

TEST_CASE_FIXTURE(WithEngine, "a call that matches no minion is a job without jid and minions") {
  const auto [job, returns] = engine.publish(R"("client": "local", "tgt": "nosuch", "fun": "test.ping")");
  CHECK(job.jid.empty());
  CHECK(job.minions.empty());
  const auto started =
      engine.publish_async(engine.permit(R"("client": "local_async", "tgt": "nosuch", "fun": "test.ping")"));
  REQUIRE(started);
  CHECK(started->jid.empty());
  CHECK(engine.runner(R"("fun": "jobs.list_jobs")").ret.text() == "{}");
}

TEST_CASE_FIXTURE(WithEngine, "returns of quick functions come with the job, in the order of its minions") {
  const auto returns = std::make_shared<master::Returns>();
  for (const char* function : {"test.ping", "test.sleep"}) {
    const auto job = engine.master->publish(
        engine.permit(format(R"("client": "local", "tgt": "*", "fun": "{}", "arg": [])", function)), {},
        returns);
    REQUIRE(job);
    REQUIRE(job->minions.size() == 3);
    const bool quick = std::string_view(function) == "test.ping";
    REQUIRE(job->returned.size() == (quick ? 3 : 0));
    for (std::size_t i = 0; i < job->returned.size(); ++i) CHECK(job->returned[i].minion == job->minions[i]);
    const auto delivery = returns->take(quick ? SteadyTime::min() : EmbeddedEngine::soon());
    CHECK(delivery.has_value() != quick);
  }
}

TEST_CASE_FIXTURE(WithEngine, "returns of quick functions beyond one MiB are delivered one by one") {
  const auto returns = std::make_shared<master::Returns>();
  const auto job = engine.master->publish(
      engine.permit(format(R"("client": "local", "tgt": "*", "fun": "test.echo", "arg": ["{}"])",
                           std::string(600'000, 'x'))),
      {}, returns);
  REQUIRE(job);
  REQUIRE(job->returned.size() == 2);
  const auto delivery = returns->take(SteadyTime::min());
  REQUIRE(delivery);
  CHECK(std::get<master::Return>(*delivery).minion == "ms-2");
  CHECK(engine.runner(format(R"("fun": "jobs.list_job", "arg": ["{}"])", job->jid)).ret.text().size() >
        3 * 600'000);
}

TEST_CASE("chunks of a request with the same credentials are authenticated once") {
  constexpr std::string_view kPing = R"("client": "local", "tgt": "ms-0", "fun": "test.ping")";
  EmbeddedEngine engine;
  const SteadyTime soon = EmbeddedEngine::soon();
  const auto session = engine.master->login(engine.chunk(kPing, "ann").credentials, soon);
  REQUIRE(session);
  const std::string token(session->token.reveal().text);
  const auto first = engine.master->admit(engine.chunk_with_token(kPing, token), soon);
  REQUIRE(first);
  REQUIRE(engine.master->logout(session->token, soon));
  const lowstate::Chunk& same = engine.chunk_with_token(kPing, token);
  const auto second = engine.master->admit(same, soon, &*first);
  REQUIRE(second);
  CHECK(second->user() == "ann");
  CHECK(engine.master->admit(same, soon).error().kind == ErrorKind::authentication);
  const lowstate::Chunk& forbidden =
      engine.chunk_with_token(R"("client": "runner", "fun": "manage.up")", token);
  CHECK(engine.master->admit(forbidden, soon, &*second).error().kind == ErrorKind::authorization);
  const lowstate::Chunk& wrong = engine.chunk(kPing, "ann", "wrong");
  CHECK(engine.master->admit(wrong, soon, &*second).error().kind == ErrorKind::authentication);
}

TEST_CASE("a publication to some minions runs on those that the target matches, and is saved for a list") {
  EmbeddedEngine engine;
  master::Publication some;
  some.only = {"ms-1", "ms-2", "nosuch"};
  CHECK(engine.call(R"("client": "local", "tgt": "G@role:web", "tgt_type": "compound", "fun": "test.ping")",
                    some) == R"({"ms-1": true})");
  CHECK(engine.call(R"("client": "local", "tgt": "ms-0", "fun": "test.ping")", some) == "{}");
  some.only = {"ms-1"};
  const auto [job, returns] = engine.publish(kPingAll, some);
  const std::string stored =
      engine.runner(format(R"("fun": "jobs.list_job", "jid": "{}")", job.jid)).ret.text();
  CHECK(holds(stored, R"("Target": ["ms-1"], "Target-type": "list")"));
}

TEST_CASE("a ping returns true and is not saved, has_function returns whether minions have all functions") {
  EmbeddedEngine engine;
  const auto [job, returns] = engine.publish(
      R"("client": "local_batch", "tgt": "*", "fun": "test.echo", "arg": ["x"])", {What::ping, {}, {}});
  CHECK(job.jid.size() == 20);
  CHECK(returns.at("ms-2").ret.text() == "true");
  CHECK(engine.runner(R"("fun": "jobs.list_jobs")").ret.text() == "{}");
  const master::Publication publication{What::has_function, {}, {}};
  CHECK(engine.call(R"("client": "local_subset", "tgt": "ms-0", "fun": "test.ping")", publication) ==
        R"({"ms-0": true})");
  CHECK(engine.call(
            R"("client": "local_subset", "tgt": "ms-0", "fun": ["test.ping", "no.such"], "arg": [[], []])",
            publication) == R"({"ms-0": false})");
}

TEST_CASE_FIXTURE(WithEngine, "a find_job publication describes the job on the minions where it runs") {
  auto returns = std::make_shared<master::Returns>();
  const auto job = engine.master->publish(
      engine.permit(R"("client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [600])"), {}, returns);
  REQUIRE(job);
  JsonDocument found;
  REQUIRE(found.parse(engine.call(kPingAll, {What::find_job, {}, job->jid})));
  const JsonValue running = *found.root().find("ms-0");
  CHECK(running.json().text() ==
        format(R"({{"pid": {}, "fun": "test.sleep", "arg": [600], "tgt": "ms-0", "jid": "{}", "ret": "", )"
               R"("tgt_type": "glob", "user": "fred"}})",
               ::getpid(), job->jid));
  CHECK(found.root().find("ms-1")->json().text() == "{}");
  CHECK(engine.call(R"("client": "local", "tgt": "ms-1", "fun": "test.ping")",
                    {What::find_job, {}, "20260101000000000000"}) == R"({"ms-1": {}})");
}

TEST_CASE_FIXTURE(WithEngine, "a caller's own jid is used once, and is refused if it is of the future") {
  const auto members = [](const char* jid) {
    return format(R"("client": "local", "tgt": "ms-0", "fun": "test.ping", "jid": "{}")", jid);
  };
  CHECK(engine.publish(members("20260101000000000042")).first.jid == "20260101000000000042");
  for (const auto& [jid, reason] :
       {std::pair("20260101000000000042", " is already used"), {"20990101000000000042", " is too new"}}) {
    const auto refused =
        engine.master->publish(engine.permit(members(jid)), {}, std::make_shared<master::Returns>());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invocation);
    CHECK(holds(refused.error().message, std::string(jid) + reason));
  }
}

TEST_CASE("a job with more calls than workers and queue can take is refused") {
  embedded::Options options;
  options.max_workers = 1;
  options.max_queued = 1;
  EmbeddedEngine engine(options);
  const auto refused = engine.publish_async(
      engine.permit(R"("client": "local_async", "tgt": "*", "fun": "test.sleep", "arg": [600])"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::unavailable);
  CHECK(holds(refused.error().message, "overloaded"));
  CHECK(engine.runner(R"("fun": "jobs.list_jobs")").ret.text() == "{}");
}

TEST_CASE_FIXTURE(WithEngine, "sessions keep the contract, and survive a reload") {
  const auth::Credentials good = engine.chunk(kPingAll).credentials;
  const auth::Credentials bad = engine.chunk(kPingAll, "fred", "wrong").credentials;
  test::keeps_session_contract(*engine.master, good, bad,
                               [&](const std::string& token) -> const lowstate::Chunk& {
                                 return engine.chunk_with_token(kPingAll, token);
                               });
  const auto session = engine.master->login(good, EmbeddedEngine::soon());
  REQUIRE(session);
  CHECK(session->perms.text() == R"([".*", {"@runner": [".*"]}, {"@wheel": [".*"]}])");
  CHECK(engine.reloaded()->session(session->token, EmbeddedEngine::soon()));
}

TEST_CASE("a shutdown waits for running and waiting calls") {
  embedded::Options options;
  options.max_workers = 1;
  EmbeddedEngine engine(options);
  std::string jid;
  for (int i = 0; i < 5; ++i) {
    const auto job = engine.publish_async(
        engine.permit(R"("client": "local_async", "tgt": "*", "fun": "test.sleep", "arg": [0])"));
    REQUIRE(job);
    jid = job->jid;
  }
  CHECK(engine.runtime->shutdown(EmbeddedEngine::soon()) == 0);
  CHECK(engine.lookup(jid) == R"({"ms-0": true, "ms-1": true, "ms-2": true})");
}

TEST_CASE("calls that have not ended at the deadline of a shutdown are recorded as interrupted") {
  const test::CapturedLog log;
  embedded::Options options;
  options.max_workers = 1;
  EmbeddedEngine engine(options);
  const std::string jid = engine.start_sleep("*");
  CHECK(engine.runtime->shutdown(std::chrono::steady_clock::now()) == 3);
  CHECK(engine.lookup(jid) == format(R"({{"ms-0": {0}, "ms-1": {0}, "ms-2": {0}}})", kInterruptedText));
  const std::string stored = engine.runner(format(R"("fun": "jobs.list_job", "jid": "{}")", jid)).ret.text();
  CHECK(holds(stored, R"("retcode": 1, "success": false)"));
  for (const char* minion : {"ms-0", "ms-1", "ms-2"}) {
    CHECK(log.has(format("job {} on {} was interrupted", jid, minion)));
  }
}

TEST_CASE("a caller gets an error if a shutdown interrupts its call") {
  const test::CapturedLog log;
  EmbeddedEngine engine;
  auto returns = std::make_shared<master::Returns>();
  auto runner_returns = std::make_shared<master::RunnerReturns>();
  REQUIRE(engine.master->publish(
      engine.permit(R"("client": "local", "tgt": "ms-0", "fun": "test.sleep", "arg": [600])"), {}, returns));
  REQUIRE(engine.master->runner(engine.permit(R"("client": "runner", "fun": "test.sleep", "arg": [600])"),
                                runner_returns));
  CHECK(engine.runtime->shutdown(std::chrono::steady_clock::now()) == 2);
  const auto ret = returns->take(EmbeddedEngine::soon());
  REQUIRE(ret.has_value());
  CHECK(std::get<Error>(*ret).kind == ErrorKind::unavailable);
  const auto runner_ret = runner_returns->take(EmbeddedEngine::soon());
  REQUIRE(runner_ret.has_value());
  CHECK(runner_ret->error().kind == ErrorKind::unavailable);
}

TEST_CASE("without a rule for pillar, targets that look into pillar are refused, whether they match or not") {
  EmbeddedEngine engine(with_pillars());
  for (const Looks& looks : kLooks) {
    CAPTURE(looks.matches);
    CHECK(reached(engine, "hal", local(looks.matches, looks.type)) == "refused");
    CHECK(reached(engine, "hal", local(looks.does_not, looks.type)) == "refused");
    CHECK(reached(engine, "fred", local(looks.matches, looks.type)) != "refused");
  }
  CHECK(reached(engine, "hal", local("*")) == "ms-0 ms-1 ms-2 ");
  CHECK(reached(engine, "hal", local("plain", "nodegroup")) == "ms-1 ");
}

TEST_CASE("with a rule for pillar on some minions, targets look into the pillar of these only") {
  EmbeddedEngine engine(with_pillars());
  CHECK(reached(engine, "gus", local("secret:ab*", "pillar")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("I@secret:ab* or ms-2")) == "ms-0 ms-2 ");
  CHECK(reached(engine, "gus", local("not I@secret:abc")).empty());
  CHECK(reached(engine, "gus", local("not I@secret:x")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("N@holders")) == "ms-0 ");
  CHECK(reached(engine, "gus", local("ms-1 and I@secret:abd")) == "refused");
  CHECK(reached(engine, "gus", local("ms-1 and I@secret:x")) == "refused");
  CHECK(reached(engine, "fred", local("secret:ab*", "pillar")) == "ms-0 ms-1 ");
}

TEST_CASE("the same rules apply to a runner's target") {
  EmbeddedEngine engine(with_pillars());
  for (const Looks& looks : kLooks) {
    CAPTURE(looks.matches);
    for (const char* tgt : {looks.matches, looks.does_not}) {
      const std::string members =
          format(R"("client": "runner", "fun": "manage.up", "kwarg": {{"tgt": "{}", "tgt_type": "{}"}})", tgt,
                 looks.type);
      CHECK(engine.refusal(members, "hal").kind == ErrorKind::authorization);
      CHECK(engine.admits(members));
    }
  }
  CHECK(engine.admits(R"("client": "runner", "fun": "manage.up", "arg": ["ms-*"])", "hal"));
}
