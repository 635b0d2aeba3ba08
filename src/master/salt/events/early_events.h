// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "master/salt/events/event.h"

namespace rest_fcgi::salt {

/// The events of jobs that nobody listens to yet, in the order in which they came, within a limit of bytes,
/// and which jobs that has cost events. Not synchronized.
class EarlyEvents {
 public:
  struct Kept {
    std::uint64_t number;  ///< larger than that of each event before
    std::string jid;
    std::string tag;
    std::string data;
    std::uint64_t too_large = 0;  ///< see Event

    [[nodiscard]] std::size_t bytes() const noexcept;
  };

  explicit EarlyEvents(std::size_t max_bytes) : max_bytes_(max_bytes) {}
  EarlyEvents(const EarlyEvents&) = delete;
  EarlyEvents& operator=(const EarlyEvents&) = delete;

  /// Says how many had to go for it, the oldest first; it is among them where it is too large itself.
  std::size_t keep(Kept event);

  /// Has an event of this job, from number `since` on, had to go? Also true where that is not known any more,
  /// since very many jobs have lost some.
  [[nodiscard]] bool lost(std::string_view jid, std::uint64_t since) const;

  /// Takes the events of a job from number `since` on; looks at no others.
  [[nodiscard]] std::list<Kept> take(std::string_view jid, std::uint64_t since);

  /// Nobody will ask for what has a smaller number.
  void drop_before(std::uint64_t number);
  void clear();
  [[nodiscard]] bool empty() const noexcept { return events_.empty(); }

 private:
  void note_loss(const Kept& event);
  void drop_oldest();

  const std::size_t max_bytes_;
  std::list<Kept> events_;
  std::multimap<std::pair<std::string_view, std::uint64_t>, std::list<Kept>::iterator>
      by_job_;  // by job and number; borrows the ids from events_
  std::size_t bytes_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> losses_;  // by job, the latest number
  std::uint64_t all_lost_ = 0;  // as if each job had lost the event with this number
};

}  // namespace rest_fcgi::salt
