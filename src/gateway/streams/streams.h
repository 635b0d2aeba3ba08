// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
  std::chrono::milliseconds blocked{30000};  ///< for a peer that takes nothing of what waits for it
  std::size_t rate = 4096;  ///< bytes a second that such a peer has to take in the long run, as of a reply
  std::chrono::milliseconds keep_alive{15000};  ///< without a word from us, after which `keep_alive` goes out
  std::chrono::milliseconds silence{60000};     ///< of a WebSocket's peer; after half of it comes a ping
  std::chrono::milliseconds end{2000};          ///< for the peer to take what is left, and to close its side
  std::chrono::milliseconds sweep{500};         ///< how often it is looked who took too long
};

using UpgradeRequest = boost::beast::http::request<boost::beast::http::empty_body>;

/// What a front end hands over. The head of the reply was sent, unless there is an `upgrade`.
struct NewStream {
  Transport transport;
  Framing framing;
  std::unique_ptr<http::Feed> feed;
  std::optional<UpgradeRequest> upgrade{};                     ///< with Framing::Form::messages
  std::vector<std::pair<std::string, std::string>> headers{};  ///< of the reply to `upgrade`
};

/// All event streams of the process, with their connections, in an io_context of their own whose thread
/// begins with the first one. What comes while feeds are asked goes out together in the next pass. `add` may
/// be called by many threads; all else by one.
class Streams {
 public:
  explicit Streams(StreamLimits limits = {});
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
  class Wakeup;
  struct Loop;

  Result<void> start();
  void begin(NewStream stream);
  void pass();
  void sweep();
  void forget();

  const StreamLimits limits_;
  std::mutex mutex_;  // guards what follows; what is in `loop_` is used by its thread alone
  std::condition_variable one_gone_;
  std::unique_ptr<Loop> loop_;  ///< none before the first stream, and at the end
  std::size_t open_ = 0;
  bool is_closing_ = false;
  bool has_ended_ = false;
};

}  // namespace rest_fcgi::gateway
