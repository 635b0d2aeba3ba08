// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// What reads bytes of strangers, each with one input. What must never happen throws, or is found by a
/// sanitizer. `make fuzz` looks for such inputs; those that are kept in test/fuzz/seeds/NAME/ are tried by
/// the unit tests, too.
namespace rest_fcgi::fuzz {

// gateway.cc

/// Bytes on a connection of the HTTP listener: heads, bodies, chunks.
void http(std::string_view input);

/// Bytes of a client on a WebSocket.
void websocket(std::string_view input);

/// Bytes of a web server on a FastCGI connection, through a socket and libfcgi to an Environ.
void fastcgi(std::string_view input);

// netapi.cc

/// A body whose Content-Type is on the first line, up to the chunks that each interface makes of it.
void body(std::string_view input);

/// A request's headers, `NAME value` a line, and what each of them is read by.
void headers(std::string_view input);

/// A request to rest_cherrypy: `METHOD TARGET`, lines of `NAME value` for CGI variables, a blank line, the
/// body. In it `TOKEN` is that of somebody who may do all.
void application(std::string_view input);

// salt.cc

/// One value of msgpack.
void msgpack(std::string_view input);

/// Bytes of a master's event bus, up to what each kind of listener gets to see.
void bus(std::string_view input);

// engine.cc

/// A master file: Salt's options and ours. One that includes others is not tried.
void config(std::string_view input);

/// An expression on the first line, as a target of each type and as a pattern of a rule; then the grains of
/// a minion.
void expression(std::string_view input);

/// What an etcd answers: a stream of objects, or one of the replies.
void etcd(std::string_view input);

/// What the responder and its helpers say to each other. The first byte tells who speaks.
void helpers(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  std::size_t most;  ///< bytes of an input; more than the limits that it shall reach
};

inline constexpr std::array kTargets{
    Target{"http", &http, 8192},       Target{"websocket", &websocket, 70'000},
    Target{"fastcgi", &fastcgi, 8192}, Target{"body", &body, 4096},
    Target{"headers", &headers, 2048}, Target{"application", &application, 4096},
    Target{"msgpack", &msgpack, 4096}, Target{"bus", &bus, 8192},
    Target{"config", &config, 4096},   Target{"expression", &expression, 4096},
    Target{"etcd", &etcd, 4096},       Target{"helpers", &helpers, 8192}};

}  // namespace rest_fcgi::fuzz
