// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "certificates.h"
#include "loopback_http.h"
#include "temp_dir.h"

namespace rest_fcgi::test {

class Child;

struct EtcdOptions {
  std::size_t members = 1;
  /// Enables authentication with two users. `root` has the password `rootpw`. `larry` has the password
  /// `123pass` and may use only keys below `/salt/`.
  bool auth = false;
  bool tls = false;
  /// The members require client certificates. REQUIRES: `tls`.
  bool ask_client_cert = false;
  bool enable_v2 = false;
};

/// A cluster of real etcd members on loopback. The members end when this object is destroyed, or when the
/// thread that started them ends. Not synchronized. A test that uses this class begins with `if (no_etcd())
/// return;`.
class EtcdCluster {
 public:
  /// Starts the members and waits until all members are healthy. Throws if this takes too long.
  explicit EtcdCluster(EtcdOptions options = {});
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  [[nodiscard]] std::string url(std::size_t member = 0) const;
  [[nodiscard]] std::vector<std::string> urls() const;
  [[nodiscard]] std::uint16_t port(std::size_t member = 0) const { return members_.at(member).client; }

  [[nodiscard]] const Certificates& certificates() const { return certificates_.value(); }

  void kill(std::size_t member);     ///< `kill` sends SIGKILL to a member.
  void restart(std::size_t member);  ///< `restart` starts a killed member and waits until it is healthy.
  /// `leader` waits until the cluster has a leader, and returns the leader's index among the members.
  std::size_t leader();

  /// Sends a POST request to a path such as `/v3/kv/put`, without the etcd client that is tested. If
  /// authentication is enabled, the user is `root`. Throws if the status is not 200.
  std::string post(const std::string& path, const std::string& body, std::size_t member = 0);
  [[nodiscard]] HttpAnswer request(const HttpRequest& request, std::size_t member = 0) const;

 private:
  struct Member {
    std::uint16_t client = 0;
    std::uint16_t peer = 0;
    std::uint16_t plain = 0;
    std::unique_ptr<Child> process{};
  };
  void start_all();
  void start(std::size_t member);
  void await_healthy(std::size_t member);
  [[nodiscard]] bool running(std::size_t member);
  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] std::vector<std::string> argv(std::size_t member) const;
  [[nodiscard]] std::string initial_cluster() const;
  [[nodiscard]] std::string token() const;
  [[nodiscard]] std::string checked(const HttpRequest& request, std::size_t member) const;
  [[nodiscard]] std::optional<std::size_t> leader_now();
  void set_up_auth();

  const EtcdOptions options_;
  TempDir dir_;
  std::optional<Certificates> certificates_;
  std::vector<Member> members_;
  bool has_auth_ = false;
};

/// Returns a cluster of one member with both APIs. Tests that do not stop the member share the cluster.
EtcdCluster& shared_etcd();

/// Returns whether etcd is not installed. The calling test then returns at once. With CI=true, a missing etcd
/// is a failure.
[[nodiscard]] bool no_etcd();

}  // namespace rest_fcgi::test
