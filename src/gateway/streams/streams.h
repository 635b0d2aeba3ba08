// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>

#include "gateway/streams/framing.h"
#include "gateway/transport.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::gateway {

struct StreamLimits {
  std::chrono::milliseconds blocked{30000};  ///< the longest time in which a peer reads nothing
  std::size_t rate = 4096;                   ///< the least average rate of reading, in bytes a second
  std::chrono::milliseconds keep_alive{
      15000};  ///< the time without a write after which `Feed::keep_alive` is sent
  /// The longest silence of a WebSocket's peer. The listener sends a ping after half of this time.
  std::chrono::milliseconds silence{60000};
  std::chrono::milliseconds end{2000};   ///< the time for the peer to read the rest and to close its side
  std::chrono::milliseconds sweep{500};  ///< the interval of the checks of these limits
};

using UpgradeRequest = boost::beast::http::request<boost::beast::http::empty_body>;

/// A connection that becomes a stream. The head of the reply has been sent, unless `upgrade` is set.
struct NewStream {
  Transport transport;
  Framing framing;
  std::unique_ptr<http::Feed> feed;
  /// The request for a WebSocket, if the form is Framing::Form::messages.
  std::optional<UpgradeRequest> upgrade{};
  std::vector<std::pair<std::string, std::string>> headers{};
};

/// All event streams of the process, on a thread of their own. Events that arrive during a pass over the
/// feeds are sent in the next pass. Any thread may call `add`; one thread calls the other functions.
class Streams {
 public:
  explicit Streams(StreamLimits limits = {});
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Takes over a connection, sends the feed's parts, and closes the connection after the feed. If the thread
  /// cannot be started, logs the error and closes the connection.
  void add(NewStream stream);

  /// Ends all streams and the streams that are added later.
  void close();

  /// Waits until all streams have ended. At `deadline`, closes the rest. REQUIRES: `close` was called.
  void wait_for_end(SteadyTime deadline);

  [[nodiscard]] std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

  [[nodiscard]] std::uint64_t slow() const noexcept { return slow_; }

 private:
  class Wakeup;
  struct Loop;

  Result<void> start();
  void begin(NewStream stream);
  void pass();
  void sweep();
  void forget();

  const StreamLimits limits_;
  std::atomic<std::uint64_t> slow_ = 0;
  // This mutex guards the members below. Only the thread of the streams uses the content of `loop_`.
  mutable std::mutex mutex_;
  std::condition_variable one_gone_;
  std::unique_ptr<Loop> loop_;  ///< null before the first stream and after the end of all streams
  std::size_t open_ = 0;
  bool is_closing_ = false;
  bool has_ended_ = false;
};

}  // namespace rest_fcgi::gateway
