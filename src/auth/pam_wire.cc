// SPDX-License-Identifier: MIT
#include "rest_fcgi/auth/pam_wire.h"

#include <algorithm>

namespace rest_fcgi::auth::pam {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kMaxUsername = 256;
constexpr std::size_t kMaxService = 64;

void append_number(WipedBytes& to, std::size_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    to.push_back(static_cast<char>(number >> shift & 0xff));
  }
}

void append_text(WipedBytes& to, std::string_view text) {
  append_number(to, text.size(), 2);
  append(to, text);
}

WipedBytes frame_of(const WipedBytes& body) {
  WipedBytes frame;
  if (body.size() > kMaxBody) return frame;
  frame.reserve(kHeader + body.size());
  append_number(frame, body.size(), kHeader);
  append(frame, {body.data(), body.size()});
  return frame;
}

/// Reads values from the body of a frame. If a value does not fit into the remaining bytes, this value and
/// all further values are empty.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}

  std::size_t number(std::size_t bytes) {
    std::size_t value = 0;
    for (const char byte : take(bytes)) value = value << 8 | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view text() { return take(number(2)); }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t bytes) {
    failed_ = failed_ || bytes > rest_.size();
    if (failed_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

WipedBytes to_frame(const Request& request) {
  const std::string_view texts[] = {request.service, request.username, request.password.reveal(),
                                    request.remote};
  WipedBytes body;
  append_number(body, kVersion, 1);
  append_number(body, static_cast<std::size_t>(request.ask), 1);
  for (const std::string_view text : texts) {
    if (text.size() > kMaxField) return {};
    append_text(body, text);
  }
  return frame_of(body);
}

WipedBytes to_frame(const Answer& answer) {
  WipedBytes body;
  append_number(body, kVersion, 1);
  append_number(body, static_cast<std::size_t>(answer.outcome), 1);
  append_text(body, std::string_view(answer.text).substr(0, kMaxField));
  for (const std::string& group : answer.groups)
    append_text(body, std::string_view(group).substr(0, kMaxField));
  return frame_of(body);
}

std::optional<std::size_t> body_size(std::string_view header) {
  const std::size_t size = BodyReader(header).number(kHeader);
  if (header.size() < kHeader || size > kMaxBody) return std::nullopt;
  return size;
}

std::optional<Request> read_request(std::string_view body) {
  BodyReader reader(body);
  const bool known = reader.number(1) == kVersion;
  const std::size_t ask = reader.number(1);
  Request request;
  request.service = reader.text();
  request.username = reader.text();
  request.password = SecretView(reader.text());
  request.remote = reader.text();
  if (!known || !reader.complete() || ask < 1 || ask > 2) return std::nullopt;
  request.ask = static_cast<Ask>(ask);
  return request;
}

std::optional<Answer> read_answer(std::string_view body) {
  BodyReader reader(body);
  const bool known = reader.number(1) == kVersion;
  const std::size_t outcome = reader.number(1);
  if (!known || outcome < 1 || outcome > 5) return std::nullopt;
  Answer answer{static_cast<Outcome>(outcome), std::string(reader.text()), {}};
  while (!reader.complete() && !reader.failed()) answer.groups.emplace_back(reader.text());
  if (reader.failed()) return std::nullopt;
  return answer;
}

bool is_username(std::string_view text) {
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '/' || c == ':' || c == ',';
  };
  if (text.empty() || text.size() > kMaxUsername || text == "." || text == "..") return false;
  if (std::string_view(" -+~").find(text.front()) != std::string_view::npos) return false;
  return std::none_of(text.begin(), text.end(), is_odd);
}

bool is_service(std::string_view text) {
  static constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !text.empty() && text.size() <= kMaxService && text.front() != '.' && text.front() != '-' &&
         text.find_first_not_of(kPlain) == std::string_view::npos;
}

}  // namespace rest_fcgi::auth::pam
