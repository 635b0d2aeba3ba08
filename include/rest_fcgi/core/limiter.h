// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi {

/// Waiting items, with one queue for each key. The keys take turns, so a key with many items does not delay
/// the others. Invariants: no queue is empty; a new key gets the last turn, so no number of new keys can
/// overtake a waiting key. Not synchronized.
template <class Item>
class FairQueue {
 public:
  struct Queue {
    std::string key;
    std::list<Item> items{};
  };
  using Turn = typename std::list<Queue>::iterator;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The queues between `begin` and `end` are in the order of their turns.
  [[nodiscard]] Turn begin() { return queues_.begin(); }
  [[nodiscard]] Turn end() { return queues_.end(); }

  void push(const std::string& key, Item item) {
    const Turn found = find(key);
    const Turn turn = found == end() ? queues_.insert(end(), Queue{key}) : found;
    turn->items.push_back(std::move(item));
    ++size_;
  }

  /// Removes and returns the first item of the queue. The next turn of its key is the last one.
  Item pop(Turn turn) {
    Item item = std::move(turn->items.front());
    turn->items.pop_front();
    queues_.splice(end(), queues_, turn);
    removed(turn);
    return item;
  }

  void erase(const std::string& key, const Item& item) {
    const Turn turn = find(key);
    turn->items.remove(item);
    removed(turn);
  }

  /// Removes and returns the last item of the longest queue, so that an item of `key` can take its place.
  /// Returns nothing if the queue of `key` would then be longer than that queue.
  std::optional<Item> make_room(const std::string& key) {
    const Turn own = find(key);
    const Turn longest = std::max_element(begin(), end(), [](const Queue& left, const Queue& right) {
      return left.items.size() < right.items.size();
    });
    const std::size_t own_size = own == end() ? 0 : own->items.size();
    if (longest == end() || longest->items.size() <= own_size + 1) return std::nullopt;
    Item item = std::move(longest->items.back());
    longest->items.pop_back();
    removed(longest);
    return item;
  }

 private:
  [[nodiscard]] Turn find(const std::string& key) {
    return std::find_if(begin(), end(), [&key](const Queue& queue) { return queue.key == key; });
  }

  void removed(Turn turn) {
    --size_;
    if (turn->items.empty()) queues_.erase(turn);
  }

  std::list<Queue> queues_;
  std::size_t size_ = 0;
};

/// Limits how many threads work at the same time: in total, of each class of work, and of each key in a
/// class, such as a client network. Further threads wait. Waiting threads of different classes begin in the
/// order of arrival, and the keys of a class take turns. A class or key at its limit does not delay others.
/// Thread-safe.
///
/// Invariant, whenever `mutex_` is free: a limit holds back each waiting thread. A new thread within all
/// limits therefore begins immediately and overtakes no thread that could begin.
class Limiter {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  struct Class {
    std::size_t at_once = kUnlimited;  ///< The largest number of threads of this class.
    std::size_t of_one = kUnlimited;   ///< The largest number of threads of one key in this class.
    /// The largest number of waiting threads. Then the last thread of the key with most waiting threads is
    /// refused.
    std::size_t waiting = 512;
    /// The number of threads of all classes at which no thread of this class begins.
    std::size_t of_all = kUnlimited;
    bool is_slow = false;      ///< Whether the threads of this class count for `Limits::slow`.
    bool keeps_place = false;  ///< Whether a stalled thread counts for `at_once` and `of_one`.
  };
  struct Limits {
    std::string_view what;  ///< A plural for messages, such as `logins`. REQUIRES: a literal.
    std::vector<Class> classes;
    std::size_t slow = kUnlimited;  ///< The largest number of threads of all slow classes.
    std::size_t stalled = 0;        ///< The largest number of stalled threads.
  };
  struct Leave {
    std::size_t index = 0;
    std::string key{};
    bool is_stalled = false;
    void operator()(Limiter* limiter) const noexcept { limiter->leave(*this); }
  };
  /// The permission to work. The thread keeps the Pass until its work has ended. The limiter must outlive
  /// the Pass.
  using Pass = std::unique_ptr<Limiter, Leave>;

  explicit Limiter(const Limits& limits);

  /// Waits until a thread may work for `key` in the class at `index` of `Limits::classes`. Errors: timeout,
  /// at `deadline`; unavailable, if too many threads wait, and after `close`.
  Result<Pass> enter(std::size_t index, std::string key, SteadyTime deadline);

  /// Marks a thread as stalled, so that another thread may begin. Does nothing if too many threads are
  /// stalled.
  void stall(Pass& pass);

  [[nodiscard]] std::size_t waiting() const;
  /// Returns the number of threads that have a Pass, including stalled threads.
  [[nodiscard]] std::size_t working() const;

  /// Refuses new and waiting threads, and returns when no thread has a Pass or waits.
  void close();

 private:
  struct Waiter {
    const std::uint64_t number;  // The order of arrival.
    enum class State { waits, works, is_refused } state = State::waits;
    std::condition_variable woken{};
  };
  struct ClassState {
    Class limits;
    std::size_t working = 0;
    std::unordered_map<std::string, std::size_t> of_key{};  // Empty if `of_one` is unlimited.
    FairQueue<Waiter*> waiters{};
  };

  [[nodiscard]] bool may_begin(const ClassState& own, const std::string& key) const REQUIRES(mutex_);
  /// Returns whether a thread may wait. Refuses a waiting thread of another key if necessary.
  bool make_room(ClassState& own, const std::string& key) REQUIRES(mutex_);
  void begin(ClassState& own, const std::string& key) REQUIRES(mutex_);
  void end_shared(const ClassState& own) REQUIRES(mutex_);
  static void end_own(ClassState& own, const std::string& key);
  void admit() REQUIRES(mutex_);
  static void wake(Waiter& waiter, Waiter::State state);

  void leave(const Leave& place) noexcept;

  const std::string_view what_;
  const std::size_t max_slow_;
  const std::size_t max_stalled_;
  mutable Mutex mutex_;
  std::condition_variable left_;  // Notified when a thread has left after `close`.
  std::vector<ClassState> classes_ GUARDED_BY(mutex_);
  std::size_t working_ GUARDED_BY(mutex_) = 0;  // The number of threads that have a Pass and are not stalled.
  std::size_t slow_ GUARDED_BY(mutex_) = 0;
  std::size_t stalled_ GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ GUARDED_BY(mutex_) = 0;  // The number of threads that wait or were woken, in `enter`.
  std::uint64_t next_number_ GUARDED_BY(mutex_) = 0;
  bool is_closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace rest_fcgi
