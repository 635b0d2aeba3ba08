// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <ctime>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {

/// Tells the events of this process to all others of this host that listen: to each socket of the folder but
/// its own ones. Who tells never waits: a thread sends, which is there once there was somebody to send to.
/// What a listener does not take in time is dropped, and that listener told so. Thread-safe.
class PeerOutbox {
 public:
  /// `folder` has to outlive it. `owner`: what the names of this process's own sockets begin with.
  /// `most_pending`: bytes that wait for one listener.
  PeerOutbox(int folder, std::string owner, std::size_t most_pending = std::size_t{16} << 20);

  /// Waits for what was told to be sent, up to a second.
  ~PeerOutbox();
  PeerOutbox(const PeerOutbox&) = delete;
  PeerOutbox& operator=(const PeerOutbox&) = delete;

  /// Does any other process listen? Costs one look at the folder's time where nothing changed there.
  [[nodiscard]] bool wanted();

  /// Tells an event to those that listened at the last `wanted`.
  void publish(std::string_view tag, std::string_view data, std::string_view user);

 private:
  struct Peer {
    UniqueFd socket;
    std::string name;
    std::string sending{};  ///< whole frames, of which `sent` bytes are sent
    std::size_t sent = 0;
    std::string pending{};  ///< whole frames behind these
    [[nodiscard]] bool has_all() const noexcept { return sent == sending.size() && pending.empty(); }
  };

  void look();
  [[nodiscard]] Result<void> connect_to_all();
  [[nodiscard]] Result<void> connect(const std::string& name);
  void run();
  [[nodiscard]] bool send(Peer& peer);

  const int folder_;
  const std::string owner_;
  const std::size_t most_pending_;
  const UniqueFd wake_;

  std::mutex mutex_;                   // guards all that follows
  std::optional<std::timespec> seen_;  ///< the folder's time at the last look, where that can be relied on
  std::optional<SteadyTime> retry_;    ///< not all listeners could be reached at the last look
  std::vector<Peer> peers_;            ///< grows anywhere, and shrinks on the thread alone
  std::optional<SteadyTime> end_;      ///< this goes, and sends no longer
  Thread thread_;
};

}  // namespace rest_fcgi::embedded
