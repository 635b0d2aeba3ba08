// SPDX-License-Identifier: MIT
#include <fcgiapp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../gateway/http/parser_driver.h"
#include "gateway/fastcgi/request.h"
#include "gateway/streams/streams.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/unique_fd.h"
#include "targets.h"

namespace rest_fcgi::fuzz {
namespace {

using gateway::test::ParserDriver;

constexpr std::size_t kMaxHead = 4000;
constexpr std::size_t kMaxBody = 1000;

/// Returns the requests in `bytes`, which the HTTP parser gets in pieces of `step` bytes.
std::vector<std::string> requests_in(std::string_view bytes, std::size_t step) {
  std::vector<std::string> found;
  while (!bytes.empty()) {
    ParserDriver driver({.max_head_size = kMaxHead, .max_body_size = kMaxBody});
    while (!bytes.empty() && !driver.is_complete() && !driver.refusal()) {
      bytes.remove_prefix(driver.take(bytes.substr(0, step)));
    }
    if (!driver.is_complete()) break;
    const http::Environ& variables = driver.parser().finish();
    std::string text(*variables.body);
    require(text.size() <= kMaxBody, "a body is larger than it may be");
    for (const auto& [name, value] : variables.all()) {
      require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
              "a variable has a line feed");
      text.append("\n").append(name).append("=").append(value);
    }
    found.push_back(std::move(text));
  }
  return found;
}

/// The destructor passes the messages of a WebSocket client to the test through a promise.
class Heard final : public http::Feed {
 public:
  using Messages = std::vector<std::string>;
  explicit Heard(std::promise<Messages> messages) : promise_(std::move(messages)) {}
  ~Heard() override { promise_.set_value(std::move(messages_)); }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  std::optional<End> take(std::vector<Part>& /*parts*/, std::size_t /*most*/,
                          const http::Wake& /*wake*/) override {
    return std::nullopt;
  }
  void on_message(std::string_view message, bool is_text) override {
    if (is_text && !is_utf8(message)) messages_.emplace_back("a text is no UTF-8");
    messages_.push_back((is_text ? "text:" : "binary:") + std::string(message));
  }
  [[nodiscard]] std::string_view keep_alive() const noexcept override { return {}; }

 private:
  std::promise<Messages> promise_;
  Messages messages_;
};

/// `peer` becomes the other end, which has sent the input and closed its sending direction. The caller owns
/// both ends.
UniqueFd connection_with(std::string_view input, UniqueFd& peer) {
  std::array<int, 2> ends = {-1, -1};
  require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0, "there is no socket");
  peer = UniqueFd(ends[1]);
  const ssize_t sent = ::send(peer.get(), input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  require(sent == static_cast<ssize_t>(input.size()), "an input does not fit into a socket");
  ::shutdown(peer.get(), SHUT_WR);
  return UniqueFd(ends[0]);
}

Heard::Messages messages_in(std::string_view bytes) {
  using boost::beast::http::field;
  using gateway::Framing;
  boost::asio::io_context front_end;
  gateway::Streams streams;
  gateway::UpgradeRequest upgrade(boost::beast::http::verb::get, "/", 11);
  upgrade.set(field::host, "a");
  upgrade.set(field::connection, "Upgrade");
  upgrade.set(field::upgrade, "websocket");
  upgrade.set(field::sec_websocket_version, "13");
  upgrade.set(field::sec_websocket_key, "dGhlIHNhbXBsZSBub25jZQ==");
  std::promise<Heard::Messages> promise;
  auto messages = promise.get_future();
  UniqueFd peer;
  gateway::Socket socket(front_end, {AF_UNIX, 0}, connection_with(bytes, peer).release());
  streams.add({gateway::Transport(std::move(socket), nullptr), Framing(Framing::Form::messages),
               std::make_unique<Heard>(std::move(promise)), std::move(upgrade)});
  return messages.get();
}

}  // namespace

void http(std::string_view input) {
  const auto whole = requests_in(input, input.size());
  const auto parts = requests_in(input, step_for(input));
  require(whole == parts || input.size() > kMaxHead, "it matters in which parts requests come");
}

void websocket(std::string_view input) {
  for (const std::string& message : messages_in(input)) {
    require(message != "a text is no UTF-8", "a text is no UTF-8");
    require(message.size() <= 65536 + 7, "a message is larger than it may be");
  }
}

std::size_t count_of(std::string_view word, std::string_view input) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = input.find(word, at)) != std::string_view::npos; at += word.size()) ++count;
  return count;
}

void fastcgi(std::string_view input) {
  // libfcgi ends the process if it cannot allocate memory for a variable (`Malloc` in fcgiapp.c). A length
  // byte of 0x84 or more can announce 64 MiB, which a web server never does. Such inputs are skipped.
  const auto announces_much = [](char byte) { return static_cast<unsigned char>(byte) >= 0x84; };
  if (std::any_of(input.begin(), input.end(), announces_much)) return;
  // If a record FCGI_GET_VALUES repeats names, the reply overflows a buffer of libfcgi for three names
  // (`ProcessManagementRecord` in fcgiapp.c). deploy/SECURITY.md describes this error.
  if (count_of("FCGI_M", input) > 3) return;
  static const bool ready = gateway::init_libfcgi().ok();
  require(ready, "libfcgi does not start");
  UniqueFd peer;
  gateway::BodyBudget budget(std::size_t{1} << 30);
  gateway::FastCgiRequest request(connection_with(input, peer));
  http::Environ environ;
  if (!request.receive(environ)) return;
  const auto body =
      request.read_body({}, {.max_size = kMaxBody, .discard_time = std::chrono::seconds(10)}, budget);
  if (!body) return;
  require(!*body || (*body)->size() <= kMaxBody, "a body is larger than it may be");
  static_cast<void>(request.reply({http::Status::ok, {}, "reply"}, false));
}

}  // namespace rest_fcgi::fuzz
