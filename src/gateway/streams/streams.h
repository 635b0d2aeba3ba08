// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "gateway/http/channel.h"
#include "gateway/http/loop.h"
#include "gateway/streams/feed_stream.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/memory.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// All feeds of the process, with their connections, in one loop whose thread begins with the first one. All
/// are woken by one call, and one pass asks each of them and writes what it has, so that what comes during a
/// pass goes out together in the next. `add` may be called by many threads; all else by one.
class Streams {
 public:
  explicit Streams(StreamLimits limits = {}) : limits_(limits) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Takes over a connection on which a feed's parts go out from now on. Where no thread can be had, which is
  /// logged, and after the end it is closed.
  void add(NewStream stream);

  /// Ends all feeds, and those that are still to come.
  void close();

  /// Waits until all connections are gone, but not after `deadline`, and closes what is left then. REQUIRES:
  /// `close` was called.
  void wait_for_end(SteadyTime deadline);

 private:
  Result<void> start();
  void begin(NewStream stream);
  void pass();
  void await_next_pass();
  void sweep();
  void bury();
  void forget(std::size_t gone);

  const StreamLimits limits_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable one_gone_;
  std::shared_ptr<Loop> loop_;  ///< none before the first stream, and at the end
  std::size_t open_ = 0;
  bool ended_ = false;

  // Of the loop's thread.
  bool closing_ = false;
  std::optional<SharedByStreams> shared_;
  std::optional<boost::asio::steady_timer> sweep_timer_;
  std::optional<boost::asio::steady_timer> pass_timer_;
  bool pass_awaited_ = false;
  SteadyTime next_pass_;  ///< not before
  TrimWhenQuiet trim_;
  std::vector<std::shared_ptr<FeedStream>> streams_;
};

}  // namespace rest_fcgi::gateway
