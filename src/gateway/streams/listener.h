// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
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

/// What all listeners share. Used by the thread of the streams.
struct ListenerGroup {
  ListenerGroup(asio::io_context& its_context, const StreamLimits& its_limits, http::Wake its_wake)
      : context(its_context),
        limits(its_limits),
        wake(std::move(its_wake)),
        news(its_context.get_executor(), Timer::time_point::max()) {}

  asio::io_context& context;
  const StreamLimits limits;
  const http::Wake wake;  ///< cancels `news` soon
  Timer news;             ///< all feeds are asked when it is cancelled
  bool is_stopping = false;
};

/// One connection on which the parts of a feed go out, and on a WebSocket messages come in. Owns both. Used
/// by the thread of the streams.
class Listener : public std::enable_shared_from_this<Listener> {
 public:
  /// The group has to live for as long as the listener's coroutines.
  Listener(ListenerGroup& group, NewStream stream);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Starts the coroutines.
  void start();

  /// Does what its time has come for. Returns whether the feed has to be asked again.
  bool sweep(SteadyTime now);

  /// Closes the connection, which ends the coroutines.
  void drop() noexcept;

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
  void begin_end() noexcept;
  void check_blocked(SteadyTime now, const Link::Progress& writing);
  void drop_late(std::string_view why) noexcept;
  [[nodiscard]] bool is_websocket() const noexcept { return framing_.form() == Framing::Form::messages; }

  ListenerGroup& group_;
  Link link_;
  Timer answered_;  ///< cancelled when the feed had no more to say to what it heard
  const Framing framing_;
  std::unique_ptr<http::Feed> feed_;
  std::optional<UpgradeRequest> upgrade_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::unique_ptr<WebSocket> websocket_;

  bool is_gone_ = false;
  bool has_heard_ = false;  ///< the feed, a message, and was not asked since
  bool is_keep_alive_due_ = false;
  std::vector<http::Feed::Part> backlog_;     ///< taken from the feed while its last parts were being sent
  std::optional<http::Feed::End> early_end_;  ///< the feed ended meanwhile
  std::optional<SteadyTime> deadline_;        ///< of the end
};

}  // namespace rest_fcgi::gateway
