// SPDX-License-Identifier: MIT
#include "etcd_server.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "child.h"
#include "rest_fcgi/core/json_document.h"

namespace rest_fcgi::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

void await(const std::string& what, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("waited in vain until " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool runs(const std::vector<std::string>& argv) {
  try {
    return Child(argv, "/dev/null").wait() == 0;
  } catch (const std::runtime_error&) {
    return false;
  }
}

/// The option `--unsafe-no-fsync` makes etcd faster. Without fsync, etcd would lose data only in a power cut.
bool may_leave_fsync_out() {
  static const bool may = runs({"etcd", "--unsafe-no-fsync", "--version"});
  return may;
}

std::string text_at(std::string_view json, std::string_view key) {
  JsonDocument document;
  if (!document.parse(json).ok()) return {};
  const auto value = document.root().find(key);
  return value ? std::string(value->text()) : std::string();
}

std::string member_id(std::string_view status) {
  JsonDocument document;
  if (!document.parse(status).ok()) return {};
  const auto header = document.root().find("header");
  const auto id = header ? header->find("member_id") : std::nullopt;
  return id ? std::string(id->text()) : std::string();
}

std::string http(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace

EtcdCluster::EtcdCluster(EtcdOptions options) : options_(std::move(options)) {
  if (options_.tls) certificates_ = make_certificates(dir_.path().string());
  for (int tries = 0;; ++tries) {
    try {
      start_all();
      break;
    } catch (const std::runtime_error&) {
      if (tries == 2) throw;
    }
  }
  if (options_.auth) set_up_auth();
}

EtcdCluster::~EtcdCluster() = default;

void EtcdCluster::start_all() {
  members_.clear();
  members_.resize(options_.members);
  for (Member& member : members_) {
    member.client = unused_port();
    member.peer = unused_port();
    member.plain = options_.tls ? unused_port() : member.client;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    std::filesystem::remove_all(dir_ / ("data" + std::to_string(i)));
    start(i);
  }
  for (std::size_t i = 0; i < size(); ++i) await_healthy(i);
}

std::string EtcdCluster::url(std::size_t member) const {
  return (options_.tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port(member));
}

std::vector<std::string> EtcdCluster::urls() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < size(); ++i) all.push_back(url(i));
  return all;
}

std::string EtcdCluster::initial_cluster() const {
  std::string all;
  for (std::size_t i = 0; i < size(); ++i) {
    all += (i == 0 ? "m" : ",m") + std::to_string(i) + "=" + http(members_[i].peer);
  }
  return all;
}

std::vector<std::string> EtcdCluster::argv(std::size_t member) const {
  const std::string number = std::to_string(member);
  const std::string peer = http(members_[member].peer);
  const std::string client = url(member) + (options_.tls ? "," + http(members_[member].plain) : "");
  std::vector<std::string> all{"etcd", "--name=m" + number, "--data-dir=" + dir_ / ("data" + number),
                               "--listen-client-urls=" + client, "--advertise-client-urls=" + url(member),
                               "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                               "--initial-cluster=" + initial_cluster(), "--initial-cluster-state=new",
                               // The election timeout is short for fast elections, but long enough on a busy
                               // machine.
                               "--heartbeat-interval=50", "--election-timeout=500", "--bcrypt-cost=4"};
  if (may_leave_fsync_out()) all.emplace_back("--unsafe-no-fsync");
  if (options_.enable_v2) all.emplace_back("--enable-v2");
  if (certificates_) {
    all.push_back("--cert-file=" + certificates_->server_cert);
    all.push_back("--key-file=" + certificates_->server_key);
    if (options_.ask_client_cert)
      all.insert(all.end(), {"--client-cert-auth", "--trusted-ca-file=" + certificates_->ca});
  }
  return all;
}

void EtcdCluster::start(std::size_t member) {
  members_.at(member).process.reset();
  members_[member].process = std::make_unique<Child>(argv(member), dir_ / ("log" + std::to_string(member)));
}

void EtcdCluster::restart(std::size_t member) {
  start(member);
  await_healthy(member);
}

void EtcdCluster::await_healthy(std::size_t member) {
  const std::string name = "etcd's member " + std::to_string(member);
  await(name + " is healthy", [&] {
    if (!running(member))
      throw std::runtime_error(name + " ended: " + dir_.read("log" + std::to_string(member)));
    return request({"GET", "/health"}, member).status == 200;
  });
}

void EtcdCluster::kill(std::size_t member) {
  members_.at(member).process->signal(SIGKILL);
  members_[member].process->wait();
}

bool EtcdCluster::running(std::size_t member) {
  return members_.at(member).process->running();
}

std::optional<std::size_t> EtcdCluster::leader_now() {
  const HttpRequest status{"POST", "/v3/maintenance/status", {}, "{}"};
  std::vector<std::string> ids;
  std::string leader;
  for (std::size_t i = 0; i < size(); ++i) {
    const std::string body = running(i) ? request(status, i).body : std::string();
    ids.push_back(member_id(body));
    if (const std::string named = text_at(body, "leader"); !named.empty()) leader = named;
  }
  for (std::size_t i = 0; i < size(); ++i) {
    if (!leader.empty() && ids[i] == leader) return i;
  }
  return std::nullopt;
}

std::size_t EtcdCluster::leader() {
  std::optional<std::size_t> who;
  await("etcd has a leader", [&] { return (who = leader_now()).has_value(); });
  return *who;
}

HttpAnswer EtcdCluster::request(const HttpRequest& request, std::size_t member) const {
  return loopback_http(members_.at(member).plain, request);
}

std::string EtcdCluster::checked(const HttpRequest& asked, std::size_t member) const {
  const HttpAnswer answer = request(asked, member);
  if (answer.status >= 200 && answer.status < 300) return answer.body;
  throw std::runtime_error(asked.method + " " + asked.path + ": " + std::to_string(answer.status) + " " +
                           answer.body);
}

std::string EtcdCluster::token() const {
  const std::string body = R"({"name":"root","password":"rootpw"})";
  return text_at(checked({"POST", "/v3/auth/authenticate", {}, body}, 0), "token");
}

std::string EtcdCluster::post(const std::string& path, const std::string& body, std::size_t member) {
  const std::string headers = has_auth_ ? "Authorization: " + token() + "\r\n" : std::string();
  return checked({"POST", path, headers, body}, member);
}

void EtcdCluster::set_up_auth() {
  const std::pair<const char*, const char*> steps[] = {
      {"user/add", R"({"name":"root","password":"rootpw"})"},
      {"role/add", R"({"name":"root"})"},
      {"user/grant", R"({"user":"root","role":"root"})"},
      {"role/add", R"({"name":"salt"})"},
      // The two base64 texts mean all keys from "/salt/" up to "/salt0".
      {"role/grant",
       R"({"name":"salt","perm":{"permType":"READWRITE","key":"L3NhbHQv","range_end":"L3NhbHQw"}})"},
      {"user/add", R"({"name":"larry","password":"123pass"})"},
      {"user/grant", R"({"user":"larry","role":"salt"})"},
      {"enable", "{}"},
  };
  for (const auto& [path, body] : steps) {
    post(std::string("/v3/auth/") + path, body);
  }
  has_auth_ = true;
}

EtcdCluster& shared_etcd() {
  static EtcdCluster cluster({.enable_v2 = true});
  return cluster;
}

bool no_etcd() {
  static const bool there = runs({"etcd", "--version"});
  if (there) return false;
  if (const char* ci = std::getenv("CI"); ci != nullptr && std::string_view(ci) == "true") {
    FAIL_CHECK("no etcd here: the package etcd-server (etcd) has it");
  } else {
    MESSAGE("skipped: no etcd here");
  }
  return true;
}

}  // namespace rest_fcgi::test
