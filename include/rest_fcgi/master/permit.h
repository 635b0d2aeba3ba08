// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::master {

/// The base class of the data that an engine keeps about an authorized chunk.
struct Admitted {
  virtual ~Admitted() = default;
};

/// The right to run one chunk. `Master::admit` makes a Permit after its checks. Borrows the chunk.
class Permit {
 public:
  [[nodiscard]] const lowstate::Chunk& chunk() const noexcept { return *chunk_; }
  [[nodiscard]] const std::string& user() const noexcept { return user_; }
  [[nodiscard]] const std::string& eauth() const noexcept { return eauth_; }
  [[nodiscard]] SteadyTime deadline() const noexcept { return deadline_; }

  /// The id that `Master::prepare` has chosen for the chunk's first job, or empty.
  [[nodiscard]] const std::string& jid() const noexcept { return jid_; }
  void set_jid(std::string jid) { jid_ = std::move(jid); }

  /// Returns the engine's data about the chunk. REQUIRES: the caller is the engine that has set the data.
  [[nodiscard]] const Admitted& admitted() const noexcept { return *admitted_; }

  /// Returns a copy whose deadline is the earlier of `end` and this Permit's deadline.
  [[nodiscard]] Permit ending_by(SteadyTime end) const {
    Permit copy = *this;
    copy.deadline_ = std::min(end, deadline_);
    return copy;
  }

 private:
  friend class Master;
  Permit(const lowstate::Chunk& chunk, std::string user, std::string eauth, SteadyTime deadline,
         std::shared_ptr<const Admitted> admitted)
      : chunk_(&chunk),
        user_(std::move(user)),
        eauth_(std::move(eauth)),
        deadline_(deadline),
        admitted_(std::move(admitted)) {}

  const lowstate::Chunk* chunk_;
  std::string user_;
  std::string eauth_;
  SteadyTime deadline_;
  std::shared_ptr<const Admitted> admitted_;
  std::string jid_;
};

}  // namespace rest_fcgi::master
