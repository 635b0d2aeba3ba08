// SPDX-License-Identifier: MIT
#include "fake_master.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::test {
namespace {

using master::Publication;

std::string name_of(Publication::What what) {
  constexpr const char* kNames[] = {"call", "ping", "has_function", "find_job"};
  return kNames[static_cast<int>(what)];
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

std::string fake_jid(std::uint64_t n) {
  const std::string digits = std::to_string(n);
  return "20260101" + std::string(12 - digits.size(), '0') + digits;
}

master::Return returned(const std::string& minion, std::string json, int retcode) {
  return {minion, Json::trusted(std::move(json)), retcode, retcode == 0, {}};
}

std::vector<std::string> FakeMaster::started() const {
  const std::lock_guard lock(mutex_);
  return started_;
}

void FakeMaster::later(std::chrono::milliseconds delay, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  threads_.emplace_back([delay, action = std::move(action)] {
    std::this_thread::sleep_for(delay);
    action();
  });
}

FakeMaster::~FakeMaster() {
  for (std::thread& thread : threads_) thread.join();
}

Result<master::Permit> FakeMaster::admit(const lowstate::Chunk& chunk, SteadyTime deadline,
                                         const master::Permit*) {
  if (on_admit) {
    if (auto error = on_admit(chunk)) return *std::move(error);
  }
  if (chunk.credentials.password.reveal() == "wrong") {
    return Error{ErrorKind::authentication, "Authorization error occurred.", {}};
  }
  if (chunk.credentials.kind == auth::Credentials::Kind::token)
    return permit(chunk, "tokenuser", "pam", deadline);
  return permit(chunk, std::string(chunk.credentials.username), std::string(chunk.credentials.eauth),
                deadline);
}

Result<std::string> FakeMaster::start(const std::string& what) {
  if (on_start) {
    if (auto error = on_start(what)) return *std::move(error);
  }
  const std::lock_guard lock(mutex_);
  started_.push_back(what);
  return fake_jid(++jobs_);
}

Result<master::Job> FakeMaster::publish(const master::Permit&, const Publication& publication,
                                        Returns returns) {
  std::vector<std::string> reached = publication.only.value_or(minions);
  if (publication.what == What::call) {
    std::erase_if(reached, [this](const std::string& id) {
      return std::find(gone.begin(), gone.end(), id) != gone.end();
    });
  }
  if (reached.empty()) return master::Job{};
  const auto jid = start(name_of(publication.what) + " " + joined(reached));
  if (!jid) return jid.error();
  std::vector<master::Return> already;
  for (const std::string& minion : reached) {
    if (publication.what == What::call && already.size() < at_once.size()) {
      already.push_back(returned(minion, at_once[already.size()]));
    } else if (std::find(silent.begin(), silent.end(), minion) != silent.end()) {
      continue;
    } else if (on_minion) {
      on_minion(minion, publication, *jid, returns);
    } else {
      returns->put(returned(minion, publication.what == What::find_job ? "{}" : "true"));
    }
  }
  const auto above = std::partition(reached.begin(), reached.end(), [this](const std::string& id) {
    return std::find(below_syndic.begin(), below_syndic.end(), id) == below_syndic.end();
  });
  std::vector<std::string> not_known(above, reached.end());
  reached.erase(above, reached.end());
  if (!publication.only) not_known.insert(not_known.end(), missing.begin(), missing.end());
  return master::Job{*jid, reached, not_known, std::move(already)};
}

Result<master::Job> FakeMaster::publish_async(const master::Permit&) {
  if (minions.empty()) return master::Job{};
  const auto jid = start("async");
  if (!jid) return jid.error();
  return master::Job{*jid, minions, {}};
}

Result<master::Started> FakeMaster::start_function(const std::string& what, const std::string& prefix) {
  const auto jid = start(what);
  if (!jid) return jid.error();
  return master::Started{*jid, prefix + *jid};
}

Result<master::Started> FakeMaster::runner(const master::Permit&,
                                           std::shared_ptr<master::RunnerReturns> returns) {
  auto started = start_function("runner", "salt/run/");
  if (!started) return started;
  if (on_runner) {
    on_runner(returns);
  } else {
    returns->put(
        master::RunnerReturn{Json::trusted(R"(["ms-0"])"), Json::trusted(R"({"return": ["ms-0"]})")});
  }
  return started;
}

Result<master::Started> FakeMaster::runner_async(const master::Permit&) {
  return start_function("runner_async", "salt/run/");
}

Result<master::WheelReply> FakeMaster::wheel(const master::Permit&) {
  const auto jid = start("wheel");
  if (!jid) return jid.error();
  return master::WheelReply{
      *jid, Json::trusted(R"({"tag": "salt/wheel/)" + *jid + R"(", "data": )" + wheel_data + "}")};
}

Result<master::Started> FakeMaster::wheel_async(const master::Permit&) {
  auto started = start_function("wheel_async", "salt/wheel/");
  if (started) started->is_accepted = says_at_once;
  return started;
}

Result<master::SshReply> FakeMaster::ssh(const master::Permit&, std::size_t max_bytes) {
  const auto jid = start("ssh");
  if (!jid) return jid.error();
  if (ssh_reply.size() > max_bytes) return Error{ErrorKind::reply_too_large, "too large", *jid};
  return master::SshReply{*jid, Json::trusted(ssh_reply)};
}

std::vector<std::string> FakeMaster::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

Result<master::Session> FakeMaster::login(const auth::Credentials& credentials, SteadyTime deadline) {
  if (credentials.password.reveal() == "wrong") {
    return Error{ErrorKind::authentication, "Authorization error occurred."};
  }
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    const std::string digits = std::to_string(++logins_);
    token = "f0" + std::string(62 - digits.size(), '0') + digits;
    sessions_[token] = {std::string(credentials.username), std::string(credentials.eauth)};
  }
  return session(SecretView(token), deadline);
}

Result<master::Session> FakeMaster::session(SecretView token, SteadyTime deadline) {
  if (on_session) {
    if (auto error = on_session(deadline)) return *std::move(error);
  }
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(token.reveal());
  if (found == sessions_.end()) return Error{ErrorKind::authentication, "Authorization error occurred."};
  const WallTime start(std::chrono::seconds(1700000000));
  return master::Session{Secret(token.reveal()),
                         start,
                         expire,
                         found->second.first,
                         found->second.second,
                         Json::trusted(R"([".*", "@jobs", "@runner", "@wheel"])"),
                         scope,
                         false};
}

Result<void> FakeMaster::logout(SecretView token, SteadyTime) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(token.reveal());
  if (found == sessions_.end()) return Error{ErrorKind::authentication, "Authorization error occurred."};
  sessions_.erase(found);
  return {};
}

Result<void> FakeMaster::fire_event(std::string_view tag, Json data, const master::Session*, SteadyTime) {
  if (on_fire) {
    if (auto error = on_fire(tag)) return *std::move(error);
  }
  const std::lock_guard lock(mutex_);
  fired_.push_back(std::string(tag) + " " + data.text());
  return {};
}

Result<std::unique_ptr<master::EventReader>> FakeMaster::events(const master::EventPermit& permit,
                                                                std::string_view after) {
  return log->reader(permit, after);
}

}  // namespace rest_fcgi::test
