// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// Readers of untrusted bytes, each with one input. A violation throws or is found by a sanitizer. `make
/// fuzz` looks for such inputs; the unit tests run the inputs in test/fuzz/seeds/NAME/.
namespace rest_fcgi::fuzz {

// gateway.cc

/// Bytes on a connection of the HTTP listener: heads, bodies, chunks.
void http(std::string_view input);

/// Bytes of a client on a WebSocket.
void websocket(std::string_view input);

/// Bytes of a web server on a FastCGI connection, over a socket and libfcgi to an Environ.
void fastcgi(std::string_view input);

// netapi.cc

/// A body with its Content-Type on the first line, up to the chunks of each interface.
void body(std::string_view input);

/// Headers of a request, `NAME value` per line, for all readers of headers.
void headers(std::string_view input);

/// A request to rest_cherrypy: `METHOD TARGET`, CGI variables as lines of `NAME value`, a blank line, the
/// body. `TOKEN` is replaced by a token with all permissions.
void application(std::string_view input);

// salt.cc

/// One value of msgpack.
void msgpack(std::string_view input);

/// Bytes of a master's event bus, up to the text for each kind of listener.
void bus(std::string_view input);

// engine.cc

/// A master file with Salt's options and ours. Files with includes are skipped.
void config(std::string_view input);

/// An expression on the first line, used as a target of each type and as a rule pattern; then the grains of a
/// minion.
void expression(std::string_view input);

/// Replies of etcd: a stream of objects, or single replies.
void etcd(std::string_view input);

/// Messages between the responder and its helpers. The first byte selects the sender.
void helpers(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  std::size_t most;  ///< largest input in bytes; more than the limits that inputs should reach
};

inline constexpr std::array kTargets{
    Target{"http", &http, 8192},       Target{"websocket", &websocket, 70'000},
    Target{"fastcgi", &fastcgi, 8192}, Target{"body", &body, 4096},
    Target{"headers", &headers, 2048}, Target{"application", &application, 4096},
    Target{"msgpack", &msgpack, 4096}, Target{"bus", &bus, 8192},
    Target{"config", &config, 4096},   Target{"expression", &expression, 4096},
    Target{"etcd", &etcd, 4096},       Target{"helpers", &helpers, 8192}};

}  // namespace rest_fcgi::fuzz
