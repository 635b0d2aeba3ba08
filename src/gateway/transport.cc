// SPDX-License-Identifier: MIT
#include "gateway/transport.h"

namespace rest_fcgi::gateway {

// If several files compile this coroutine, g++ with LTO warns that its frames differ (-Wodr).
Task<> Transport::finish() {
  boost::system::error_code ignored;
  if (tls_) co_await tls_->async_shutdown(use_task_with(ignored));
  socket_->shutdown(Socket::shutdown_send, ignored);
}

}  // namespace rest_fcgi::gateway
