// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

/// Each target passes one untrusted input to the code that reads these bytes. If the code breaks a rule, the
/// target throws or a sanitizer stops the target. `make fuzz` searches for inputs of this kind. The unit
/// tests run the inputs in test/fuzz/seeds/NAME/.
namespace rest_fcgi::fuzz {

/// Reads the bytes that a client sends on an HTTP connection.
void http(std::string_view input);

void websocket(std::string_view input);

/// Reads the bytes that a web server sends on a FastCGI connection. The bytes pass through libfcgi into an
/// Environ.
void fastcgi(std::string_view input);

/// Reads a request body into the chunks of each interface. The first line of the input is the Content-Type.
void body(std::string_view input);

/// Calls all functions that read request headers. Each line of the input is `NAME value`.
void headers(std::string_view input);

/// Sends a request to rest_cherrypy. The input has a line `METHOD TARGET`, lines of CGI variables, a blank
/// line, and the body. `TOKEN` stands for a token with all permissions.
void application(std::string_view input);

void msgpack(std::string_view input);

/// Reads the bytes of a master's event bus. Writes each event for each kind of listener.
void bus(std::string_view input);

/// Reads a master file with the options of Salt and of rest_fcgi. Skips a file with `include`.
void config(std::string_view input);

/// Uses an expression as a target of each type and as a pattern in a rule. The first line of the input is the
/// expression. The other lines are the grains of a minion, which the target and the pattern can match.
void expression(std::string_view input);

/// Reads replies of etcd, both as a stream of objects and as single replies.
void etcd(std::string_view input);

/// Reads messages between the responder and its helpers. The first byte of the input selects the sender.
void helpers(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  std::size_t most;
};

inline constexpr std::array kTargets{
    Target{"http", &http, 8192},       Target{"websocket", &websocket, 70'000},
    Target{"fastcgi", &fastcgi, 8192}, Target{"body", &body, 4096},
    Target{"headers", &headers, 2048}, Target{"application", &application, 4096},
    Target{"msgpack", &msgpack, 4096}, Target{"bus", &bus, 8192},
    Target{"config", &config, 4096},   Target{"expression", &expression, 4096},
    Target{"etcd", &etcd, 4096},       Target{"helpers", &helpers, 8192}};

}  // namespace rest_fcgi::fuzz
