// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/fastcgi/request.h"
#include "gateway/pool.h"
#include "gateway/sys.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::gateway {

/// What one thread does: waits for a connection, answers the requests on it one after the other, and waits
/// again; or runs a task. Made by the thread that starts the other one; from then on used by that one alone.
/// Buffers are reused from request to request.
class Worker {
 public:
  /// Errors: internal, when there are no descriptors left.
  static Result<std::unique_ptr<Worker>> make(std::shared_ptr<Pool> pool);

  /// Without an `epoll` it can only `refuse`.
  Worker(std::shared_ptr<Pool> pool, UniqueFd epoll);

  /// Returns when the thread is no longer needed: nothing to do for long, or the gateway stops.
  void run() noexcept;

  /// Reads a request, for a moment and no longer, and has the application say that there is no thread for it.
  void refuse(UniqueFd connection) noexcept;

 private:
  bool listen();
  void turn_away();
  Work next_work();
  static void run_task(const std::function<void()>& task) noexcept;
  void serve(UniqueFd connection) noexcept;
  bool answer(Request& request);
  [[nodiscard]] bool reply(Request& request);
  bool send(Request& request, http::Response response);
  void give_away(Request& request, std::unique_ptr<http::Feed> feed);
  static Result<int> send_parts(Request& request, std::string head, http::Stream& stream);
  bool await_next_request(int connection);
  bool give_memory_back() noexcept;

  const std::shared_ptr<Pool> pool_;
  const UniqueFd epoll_;
  bool worked_ = false;  ///< since it gave memory back last
  bool listens_ = false;
  Work successor_;  ///< for which a kept connection has to make room
  Body body_;
  http::Environ environ_;
};

}  // namespace rest_fcgi::gateway
