// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http/reader.h"
#include "rest_fcgi/http/application.h"

/// What goes out before a body.
namespace rest_fcgi::gateway {

/// Status line and headers, but for the blank line.
[[nodiscard]] std::string head_of(const http::Response& response);

/// The headers with which a WebSocket begins; `key` is the peer's (RFC 6455, 4.2.2).
[[nodiscard]] std::string upgrade_headers(std::string_view key);

/// A whole reply, after which the connection ends.
[[nodiscard]] std::string refusal_reply(const Refusal& refusal);

/// How many bytes the application says that its stream has.
[[nodiscard]] std::optional<std::uint64_t> promised_size(const http::Response& response);

}  // namespace rest_fcgi::gateway
