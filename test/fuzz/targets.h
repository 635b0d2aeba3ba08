// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/result.h"

/// The fuzz targets. Each target passes its input to code that reads untrusted bytes. If the code breaks a
/// rule, the target throws an exception or a sanitizer ends the program. `make fuzz` searches for inputs that
/// do this. The unit tests run each target with the inputs in test/fuzz/seeds/NAME/, where NAME is the
/// target's name.
namespace rest_fcgi::fuzz {

/// Reads the bytes that a client sends on an HTTP connection.
void http(std::string_view input);

void websocket(std::string_view input);

/// Reads the bytes that a web server sends on a FastCGI connection. libfcgi reads them, and the variables go
/// into an Environ.
void fastcgi(std::string_view input);

/// Reads a request body into chunks (commands), with the rules of each front end. The first line of the input
/// is the Content-Type.
void body(std::string_view input);

/// Passes a request to the front end rest_cherrypy. The input has a line `METHOD TARGET`, lines with CGI
/// variables, a blank line, and the body. The word `TOKEN` in the input stands for a token with all
/// permissions.
void application(std::string_view input);

void msgpack(std::string_view input);

/// Reads the bytes of a master's event bus. Writes each event in the formats of all event streams and
/// WebSockets.
void bus(std::string_view input);

/// Uses an expression as a minion target of each type. The first line of the input is the expression. The
/// other lines are the grains of the minion with which the target is matched.
void expression(std::string_view input);

/// Reads replies of etcd: the input once as a stream of JSON objects, and once as a single reply.
void etcd(std::string_view input);

/// Reads orders from rest_fcgi to its helper program rest_fcgi_run.
void helpers(std::string_view input);

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  std::size_t most;
};

inline constexpr std::array kTargets{Target{"http", &http, 8192},
                                     Target{"websocket", &websocket, 70'000},
                                     Target{"fastcgi", &fastcgi, 8192},
                                     Target{"body", &body, 4096},
                                     Target{"application", &application, 4096},
                                     Target{"msgpack", &msgpack, 4096},
                                     Target{"bus", &bus, 8192},
                                     Target{"expression", &expression, 4096},
                                     Target{"etcd", &etcd, 4096},
                                     Target{"helpers", &helpers, 8192}};

inline void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

/// Checks that an error message is neither empty nor long. The server replaces malformed UTF-8 in messages
/// later.
inline void require_sentence(const Error& error, std::size_t most = 1000) {
  require(!error.message.empty(), "an error says nothing");
  require(error.message.size() <= most, "an error is longer than a sentence");
}

inline void require_json(std::string_view text) {
  JsonDocument document;
  require(static_cast<bool>(document.parse(text, JsonLimits::none())), "this is no JSON");
}

inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

inline std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  return {line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))};
}

/// Each fuzz target reads its input once as a whole and once in pieces of this size in bytes.
inline std::size_t step_for(std::string_view input) {
  return 1 + input.size() % 7;
}

}  // namespace rest_fcgi::fuzz
