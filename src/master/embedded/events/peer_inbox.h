// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/thread.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/master/events.h"

namespace rest_fcgi::embedded {

/// Where the events of other processes of this host come in: a socket in the folder in which they look for
/// one, and a thread that hands on to the log what comes. Both are there only while somebody listens.
/// Thread-safe.
class PeerInbox {
 public:
  /// `folder` has to outlive it. `owner`: what the names of its sockets begin with, unlike those of any other
  /// process.
  PeerInbox(int folder, std::string owner, std::shared_ptr<master::EventLog> log);
  ~PeerInbox();
  PeerInbox(const PeerInbox&) = delete;
  PeerInbox& operator=(const PeerInbox&) = delete;

  /// A reader of the log. When this came back, all that other processes tell from then on comes to the log,
  /// as long as that is wanted. Errors: those of `EventLog::reader`; unavailable, where others cannot be
  /// heard.
  [[nodiscard]] Result<std::unique_ptr<master::EventReader>> reader(const master::EventPermit& permit,
                                                                    std::string_view after);

 private:
  struct Peer {
    UniqueFd socket;
    std::string bytes{};  ///< of a frame that is not whole yet
  };

  [[nodiscard]] Result<void> start();
  [[nodiscard]] Result<void> open();
  void close();
  void run();
  [[nodiscard]] bool goes_on();
  void accept(std::vector<Peer>& peers);
  void refuse();
  [[nodiscard]] bool receive(Peer& peer);
  [[nodiscard]] bool take_frames(Peer& peer);
  void lose();

  const int folder_;
  const std::string owner_;
  const std::shared_ptr<master::EventLog> log_;
  const UniqueFd wake_;
  std::optional<SteadyTime> refused_;  ///< when readers were told last that there are too many; of the thread

  std::mutex mutex_;    // guards all that follows
  UniqueFd listening_;  // closed: nobody listens, and there is no thread, or soon none
  std::string name_;    // of the socket
  std::uint64_t opened_ = 0;
  bool ending_ = false;
  Thread thread_;
};

}  // namespace rest_fcgi::embedded
