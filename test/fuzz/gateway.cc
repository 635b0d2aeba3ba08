// SPDX-License-Identifier: MIT
#include <fcgiapp.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/fastcgi/request.h"
#include "gateway/http/reader.h"
#include "gateway/streams/websocket.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/unique_fd.h"
#include "support.h"
#include "targets.h"

namespace rest_fcgi::fuzz {
namespace {

using Stage = gateway::RequestReader::Stage;

constexpr std::size_t kMaxHead = 4000;  // readers limit it within one `take`

/// Returns all requests in `bytes`, which arrive `step` at a time.
std::vector<std::string> requests_in(std::string_view bytes, std::size_t step) {
  gateway::RequestReader reader({.max_head_size = kMaxHead, .max_body_size = 1000});
  std::vector<std::string> found;
  while (!bytes.empty()) {
    bytes.remove_prefix(reader.take(bytes.substr(0, step)));
    if (reader.stage() == Stage::refused) break;
    if (reader.stage() != Stage::complete) continue;
    std::string text(*reader.environ().body);
    require(text.size() <= 1000, "a body is larger than it may be");
    for (const auto& [name, value] : reader.environ().all()) {
      require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
              "a variable has a line feed");
      text.append("\n").append(name).append("=").append(value);
    }
    found.push_back(std::move(text));
    reader.reset();
  }
  return found;
}

/// Returns all messages in `bytes`, which arrive `step` at a time.
std::vector<std::string> messages_in(std::string_view bytes, std::size_t step) {
  using Kind = gateway::WebSocketReader::Message::Kind;
  gateway::WebSocketReader reader;
  std::vector<std::string> found;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, step);
    bytes.remove_prefix(part.size());
    for (auto message = reader.next(part); message.kind != Kind::none; message = reader.next(part)) {
      require(message.kind != Kind::text || is_utf8(message.payload), "a text is no UTF-8");
      found.push_back(std::to_string(static_cast<int>(message.kind)) + " " + std::to_string(message.code));
      found.back().append(" ").append(message.payload);
      if (message.kind == Kind::broken) return found;
    }
    require(part.empty(), "bytes are left");
  }
  return found;
}

using Variables = std::vector<std::pair<std::string, std::string>>;

/// Decodes the variables and the body of valid records by the specification.
struct PlainRequest {
  unsigned role = 0;
  bool has_variables = false;  ///< all of them
  Variables variables{{"FCGI_ROLE", "RESPONDER"}};
  std::string body;
};

std::size_t number_in(std::string_view bytes) {
  std::size_t number = 0;
  for (const char byte : bytes) number = (number << 8) + static_cast<unsigned char>(byte);
  return number;
}

std::string_view cut(std::string_view& bytes, std::size_t size) {
  const std::string_view front = bytes.substr(0, size);
  bytes.remove_prefix(front.size());
  return front;
}

std::size_t cut_length(std::string_view& bytes) {
  const bool is_long = (number_in(bytes.substr(0, 1)) & 0x80) != 0;
  return number_in(cut(bytes, is_long ? 4 : 1)) & (is_long ? 0x7FFFFFFF : 0x7F);
}

/// Names and values are C strings. A variable without a name is dropped.
void read_variables(std::string_view params, Variables& variables) {
  while (!params.empty()) {
    const std::size_t name_size = cut_length(params);
    const std::size_t value_size = cut_length(params);
    std::string text(cut(params, name_size));
    text.append("=").append(cut(params, value_size));
    text.resize(std::min(text.find('\0'), text.size()));
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
}

PlainRequest plainly_read(std::string_view bytes) {
  PlainRequest request;
  std::string params;
  bool body_ended = false;
  while (bytes.size() >= 8 && !body_ended) {
    const std::string_view header = cut(bytes, 8);
    const std::string_view content = cut(bytes, number_in(header.substr(4, 2)));
    cut(bytes, number_in(header.substr(6, 1)));
    const std::size_t type = number_in(header.substr(1, 1));
    if (type == 1) request.role = static_cast<unsigned>(number_in(content.substr(0, 2)));
    if (type == 4 && content.empty()) request.has_variables = true;
    if (type == 4) params.append(content);
    if (type == 5) request.body.append(content);
    body_ended = type == 5 && content.empty();
  }
  if (request.has_variables) read_variables(params, request.variables);
  return request;
}

/// Sends all bytes like a web server and closes its direction.
UniqueFd connection_with(std::string_view input, UniqueFd& peer) {
  std::array<int, 2> ends = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there is no socket");
  peer = UniqueFd(ends[1]);
  const ssize_t sent = ::send(peer.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  require(sent == static_cast<ssize_t>(input.size()), "an input does not fit into a socket");
  ::shutdown(peer.get(), SHUT_WR);
  return UniqueFd(ends[0]);
}

constexpr std::size_t kMaxBody = 1000;

/// The request of the gateway must equal the content of its records.
void compare(gateway::Request& request, const PlainRequest& plain, bool complete) {
  http::Environ environ;
  request.take_variables(environ);
  const auto found = environ.all();
  require(Variables(found.begin(), found.end()) == plain.variables, "variables are not those that were sent");
  gateway::Body body({.max_size = kMaxBody});
  const auto end = body.read(request.input(), {});
  require(complete || end != gateway::Body::End::complete, "a body has an end that it has not");
  if (end != gateway::Body::End::complete) return;
  const auto content = body.content();
  require(content.ok() == (plain.body.size() <= kMaxBody), "a body is larger than it may be");
  require(!content || *content == plain.body, "a body is not what was sent");
}

}  // namespace

void http(std::string_view input) {
  const auto whole = requests_in(input, input.size());
  const auto parts = requests_in(input, step_for(input));
  require(whole == parts || input.size() > kMaxHead, "it matters in which parts requests come");
}

void websocket(std::string_view input) {
  const auto whole = messages_in(input, input.size());
  require(whole == messages_in(input, step_for(input)), "it matters in which parts frames come");
}

void fastcgi(std::string_view input) {
  using Filter = gateway::RecordFilter;
  static const bool ready = gateway::init_libfcgi().ok();
  require(ready, "libfcgi does not start");
  Filter whole;
  whole.pass(input);
  Filter parts;
  for (std::string_view rest = input; !rest.empty();) parts.pass(cut(rest, step_for(input)));
  require(whole.stage() == parts.stage() && whole.problem() == parts.problem() &&
              whole.body_size() == parts.body_size(),
          "it matters in which parts records come");

  UniqueFd peer;
  gateway::Request request(connection_with(input, peer),
                           {std::chrono::seconds(10), std::chrono::seconds(10)});
  const bool received = request.receive();
  const bool complete = whole.stage() == Filter::Stage::complete;
  const PlainRequest plain = plainly_read(input);
  require(received || !complete || plain.role != 1, "a request is not taken");
  if (!received) return;
  require(plain.role == 1 && plain.has_variables, "what is no request is taken");
  compare(request, plain, complete);
}

}  // namespace rest_fcgi::fuzz
