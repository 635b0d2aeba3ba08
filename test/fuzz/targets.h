// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string_view>

/// What reads bytes of strangers, each with one input. What must never happen throws, or is found by a
/// sanitizer. `make fuzz` looks for such inputs; those that are kept in test/fuzz/seeds/NAME/ are tried by
/// the unit tests, too.
namespace rest_fcgi::fuzz {

/// Bytes on a connection of the HTTP listener.
void http(std::string_view input);

/// Bytes of a client on a WebSocket.
void websocket(std::string_view input);

/// A body whose Content-Type is on the first line.
void body(std::string_view input);

/// A request to rest_cherrypy: `METHOD TARGET`, lines of `NAME value` for CGI variables, a blank line, the
/// body. In it `TOKEN` is that of somebody who may do all.
void application(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
};

inline constexpr std::array kTargets{Target{"http", &http}, Target{"websocket", &websocket},
                                     Target{"body", &body}, Target{"application", &application}};

}  // namespace rest_fcgi::fuzz
