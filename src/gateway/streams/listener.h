// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <boost/beast/websocket/stream.hpp>

#include "gateway/streams/framing.h"
#include "gateway/streams/link.h"
#include "gateway/streams/streams.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// The objects that all listeners share. Used by the thread of the streams.
struct ListenerGroup {
  ListenerGroup(asio::io_context& its_context, const StreamLimits& its_limits, http::Wake its_wake,
                std::atomic<std::uint64_t>& its_slow)
      : context(its_context),
        limits(its_limits),
        wake(std::move(its_wake)),
        slow(its_slow),
        news(its_context.get_executor(), Timer::time_point::max()) {}

  asio::io_context& context;
  const StreamLimits limits;
  /// Makes the thread of the streams cancel the timer `news`. Callable from any thread.
  const http::Wake wake;
  std::atomic<std::uint64_t>& slow;
  Timer news;  ///< A cancel of this timer makes each listener ask its feed for new parts.
  bool is_stopping = false;
};

/// One event stream. It sends the parts of a feed to the peer, and passes the messages of a WebSocket to the
/// feed. Owns the connection and the feed. Used by the thread of the streams.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  /// Takes ownership of the connection and the feed in `stream`. REQUIRES: `group` outlives the coroutines of
  /// the listener.
  Listener(ListenerGroup& group, NewStream stream);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start();

  /// Checks the time limits. Returns true if a keep-alive is due. The caller then cancels the timer `news`,
  /// so that the listener sends the keep-alive.
  bool sweep(SteadyTime now);

  /// Closes the connection and so ends the listener's coroutines.
  void drop();

  [[nodiscard]] bool is_gone() const noexcept { return is_gone_; }

 private:
  using WebSocket = boost::beast::websocket::stream<Link&, false>;

  Task<> talk();
  Task<> listen();
  Task<> accept();
  Task<> hear_messages();
  Task<> send(std::vector<http::Feed::Part> parts);
  Task<> end(http::Feed::End why);
  std::optional<http::Feed::End> take(std::vector<http::Feed::Part>& parts);
  std::optional<http::Feed::End> take_from_feed(std::vector<http::Feed::Part>& parts, std::size_t most_bytes);
  void begin_end();
  void check_blocked(SteadyTime now, const Link::Progress& writing);
  void note_slow(std::string_view why);
  void drop_late(std::string_view why);
  [[nodiscard]] bool is_websocket() const noexcept { return framing_.form() == Framing::Form::messages; }

  ListenerGroup& group_;
  Link link_;
  /// `hear_messages` waits on this timer until the feed's answers to the last message are sent.
  Timer answered_;
  const Framing framing_;
  std::unique_ptr<http::Feed> feed_;
  std::optional<UpgradeRequest> upgrade_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::unique_ptr<WebSocket> websocket_;

  bool is_gone_ = false;
  bool has_heard_ = false;  ///< Whether answers to the last message are not sent yet.
  bool is_keep_alive_due_ = false;
  /// The parts that `check_blocked` took from the feed during a write.
  std::vector<http::Feed::Part> backlog_;
  std::optional<http::Feed::End> early_end_;
  std::optional<SteadyTime> deadline_;  ///< The time at which an ending connection is closed.
};

}  // namespace rest_fcgi::gateway
