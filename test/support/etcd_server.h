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
  /// Users `root` (password `rootpw`) and `larry` (`123pass`), who has permission below `/salt/`; also in an
  /// enabled API v2.
  bool auth = false;
  bool tls = false;
  bool ask_client_cert = false;  ///< with `tls`: members require a client certificate of the authority
  bool enable_v2 = false;
  std::vector<std::string> arguments{};  ///< further options of etcd, such as `--auth-token-ttl=2`
};

/// Real members of one etcd cluster (or a single one) on loopback, in their own directory. They end with this
/// object; a member also ends with the thread that (re)started it. Not synchronized. A test begins with `if
/// (no_etcd()) return;`.
class EtcdCluster {
 public:
  /// Returns when all members are healthy. Throws after a limit.
  explicit EtcdCluster(EtcdOptions options = {});
  ~EtcdCluster();
  EtcdCluster(const EtcdCluster&) = delete;
  EtcdCluster& operator=(const EtcdCluster&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }

  /// `http://127.0.0.1:PORT`, or `https:` with `tls`.
  [[nodiscard]] std::string url(std::size_t member = 0) const;
  [[nodiscard]] std::vector<std::string> urls() const;
  [[nodiscard]] std::uint16_t port(std::size_t member = 0) const { return members_.at(member).client; }

  /// REQUIRES: `tls`.
  [[nodiscard]] const Certificates& certificates() const { return certificates_.value(); }

  void kill(std::size_t member);    ///< SIGKILL
  void stop(std::size_t member);    ///< SIGTERM, and waits
  void freeze(std::size_t member);  ///< stops the process; its connections stay open
  void thaw(std::size_t member);
  void start(std::size_t member);    ///< starts a stopped member without waiting
  void restart(std::size_t member);  ///< the same, and waits until it is healthy
  [[nodiscard]] bool running(std::size_t member);

  void await_healthy(std::size_t member);
  /// Waits for a leader. Returns its number, as reported by a member.
  std::size_t leader();
  /// Returns the number of a member that does not lead.
  [[nodiscard]] std::size_t follower();

  /// Posts to the API v3 without the client under test, for example `/v3/kv/put`, as `root` with `auth`.
  /// Throws unless the status is 200.
  std::string post(const std::string& path, const std::string& body, std::size_t member = 0);
  /// Any request, without TLS.
  [[nodiscard]] HttpAnswer request(const HttpRequest& request, std::size_t member = 0) const;

 private:
  struct Member {
    std::uint16_t client = 0;  ///< ports
    std::uint16_t peer = 0;
    std::uint16_t plain = 0;  ///< port of the test itself, without TLS
    bool frozen = false;
    std::unique_ptr<Child> process{};
  };
  void start_all();
  [[nodiscard]] std::vector<std::string> argv(std::size_t member) const;
  [[nodiscard]] std::string initial_cluster() const;
  [[nodiscard]] std::string token() const;
  [[nodiscard]] std::string checked(const HttpRequest& request, std::size_t member) const;
  [[nodiscard]] std::optional<std::size_t> leader_now();
  void set_up_auth();
  void set_up_auth_v2();

  const EtcdOptions options_;
  TempDir dir_;
  std::optional<Certificates> certificates_;
  std::vector<Member> members_;
  bool has_auth_ = false;
};

/// Returns true without etcd. The test is then skipped, or fails with CI=true.
[[nodiscard]] bool no_etcd();

}  // namespace rest_fcgi::test
