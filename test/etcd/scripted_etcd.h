// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "fake_gateway.h"

namespace rest_fcgi::etcd {

/// A fake of etcd's gateway. The fake answers as etcd 3.4 does, unless a test sets other replies for a path.
/// Thread-safe.
class ScriptedEtcd {
 public:
  /// Returns the reply to the n-th request of a path, counted from 0. An empty reply breaks the connection.
  using Answer = std::function<std::string(std::size_t n)>;

  explicit ScriptedEtcd(std::map<std::string, Answer> answers, std::string cluster_id = "7")
      : answers_(std::move(answers)),
        server_([this, cluster_id](const FakeGateway::Request& request, const FakeGateway::Send& send) {
          const std::string reply = reply_to(request.path, cluster_id);
          return !reply.empty() && send(reply);
        }) {}

  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::vector<FakeGateway::Request> requests() const { return server_.requests(); }

  [[nodiscard]] std::size_t count(const std::string& path) const {
    const auto requests = server_.requests();
    return static_cast<std::size_t>(
        std::count_if(requests.begin(), requests.end(), [&path](const auto& r) { return r.path == path; }));
  }

  [[nodiscard]] static std::string header_only(const std::string& cluster_id = "7") {
    return FakeGateway::reply(200, R"({"header":{"cluster_id":")" + cluster_id + R"(","revision":"5"}})");
  }
  [[nodiscard]] static std::string error(int status, int code, const std::string& text) {
    return FakeGateway::reply(status, R"({"error":")" + text + R"(","message":")" + text + R"(","code":)" +
                                          std::to_string(code) + "}");
  }
  [[nodiscard]] static std::string not_found() {
    return FakeGateway::reply(404, "404 page not found\n", "text/plain");
  }

 private:
  std::string reply_to(const std::string& path, const std::string& cluster_id) {
    const auto found = answers_.find(path);
    if (found != answers_.end()) {
      std::size_t n = 0;
      {
        const std::lock_guard lock(mutex_);
        n = asked_[path]++;
      }
      return found->second(n);
    }
    return path.starts_with("/v3/") ? header_only(cluster_id) : not_found();
  }

  const std::map<std::string, Answer> answers_;
  std::mutex mutex_;
  std::map<std::string, std::size_t> asked_;
  FakeGateway server_;
};

inline ScriptedEtcd::Answer always(std::string reply) {
  return [reply = std::move(reply)](std::size_t) { return reply; };
}

}  // namespace rest_fcgi::etcd
