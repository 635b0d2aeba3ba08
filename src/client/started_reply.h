// SPDX-License-Identifier: MIT
#pragma once

#include "rest_fcgi/client/netapi_client.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// `{"tag": ..., "jid": ...}`: what `runner_async` and `wheel_async` give.
[[nodiscard]] Reply started_reply(master::Started started);

}  // namespace rest_fcgi::client
