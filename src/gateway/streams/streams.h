// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include "gateway/streams/framing.h"
#include "gateway/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/mutex.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

struct StreamLimits {
  /// The longest time in which the peer reads nothing of a pending write.
  std::chrono::milliseconds blocked{30000};
  std::size_t rate = 4096;  ///< `rate` is the least average rate at which the peer reads, in bytes a second.
  /// `keep_alive` is the time without a write before `Feed::keep_alive` is sent.
  std::chrono::milliseconds keep_alive{15000};
  /// The longest time in which a WebSocket's peer sends nothing. After half of this time, the listener sends
  /// a ping.
  std::chrono::milliseconds silence{60000};
  std::chrono::milliseconds end{2000};   ///< The peer must close an ending connection within `end`.
  std::chrono::milliseconds sweep{500};  ///< `sweep` is the interval between checks of the streams' limits.
};

using UpgradeRequest = boost::beast::http::request<boost::beast::http::empty_body>;

/// A connection that becomes an event stream. The reply's head has been sent, unless `upgrade` is set.
struct NewStream {
  Transport transport;
  Framing framing;
  std::unique_ptr<http::Feed> feed;
  /// The request for a WebSocket. Set if the form is Framing::Form::messages.
  std::optional<UpgradeRequest> upgrade{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// All event streams of the process, on their own thread. In a pass over all streams, each stream sends the
/// new events of its feed. Any thread may call `add`. One thread calls the other functions.
class Streams {
 public:
  explicit Streams(StreamLimits limits = {});
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Takes over a connection, sends the parts of its feed, and closes the connection at the end of the feed.
  /// If the thread cannot be started, logs the error and closes the connection.
  void add(NewStream stream);

  /// Ends all streams. Streams that are added later end immediately.
  void close();

  /// Waits until all streams have ended. At `deadline`, closes the streams that are still open. REQUIRES:
  /// `close` was called.
  void wait_for_end(SteadyTime deadline);

  [[nodiscard]] std::size_t count() const {
    const MutexLock lock(mutex_);
    return open_;
  }

  [[nodiscard]] std::uint64_t slow() const noexcept { return slow_; }

 private:
  class Wakeup;
  struct Loop;

  Result<void> start() REQUIRES(mutex_);
  void begin(NewStream stream);
  void pass();
  void sweep();
  void forget();

  const StreamLimits limits_;
  std::atomic<std::uint64_t> slow_ = 0;
  mutable Mutex mutex_;
  std::condition_variable one_gone_;
  /// Null before the first stream and after the end of all streams. Changes while `mutex_` is held. Only the
  /// thread of the streams uses the content.
  std::unique_ptr<Loop> loop_;
  std::size_t open_ GUARDED_BY(mutex_) = 0;
  bool is_closing_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace rest_fcgi::gateway
