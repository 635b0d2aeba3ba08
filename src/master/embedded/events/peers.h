// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "master/embedded/events/peer_inbox.h"
#include "master/embedded/events/peer_outbox.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/unique_fd.h"
#include "rest_fcgi/master/events.h"

namespace rest_fcgi::embedded {

/// The other processes of this user on this host that tell each other what happens, through one folder.
class Peers {
 public:
  /// Makes the folder where it is missing. Errors: configuration, as the end of a sentence that begins with
  /// its path.
  [[nodiscard]] static Result<std::unique_ptr<Peers>> open(const std::string& folder,
                                                           std::shared_ptr<master::EventLog> log);

  [[nodiscard]] PeerInbox& inbox() noexcept { return inbox_; }
  [[nodiscard]] PeerOutbox& outbox() noexcept { return outbox_; }

 private:
  Peers(UniqueFd folder, const std::string& owner, std::shared_ptr<master::EventLog> log)
      : folder_(std::move(folder)),
        inbox_(folder_.get(), owner, std::move(log)),
        outbox_(folder_.get(), owner) {}

  const UniqueFd folder_;
  PeerInbox inbox_;
  PeerOutbox outbox_;
};

}  // namespace rest_fcgi::embedded
