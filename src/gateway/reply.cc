// SPDX-License-Identifier: MIT
#include "gateway/reply.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/sys.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi::gateway {
namespace {

/// To parse a larger body can take longer than a millisecond.
constexpr std::size_t kQuickBody = 16384;

}  // namespace

http::Response reply_to(const Refusal& refusal) {
  std::string body;
  JsonWriter writer(body);
  writer.begin_object().key("status").integer(static_cast<int>(refusal.status));
  writer.key("return").string(refusal.sentence).end_object();
  http::Response response{refusal.status, {{"Content-Type", "application/json"}}, std::move(body)};
  if (refusal.status == http::Status::service_unavailable) response.headers.emplace_back("Retry-After", "1");
  return response;
}

std::string without_control(std::string_view text) {
  std::string clean(text);
  std::erase_if(clean, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 || code == 0x7F;
  });
  return clean;
}

void append_headers(const http::Response& response, std::string& head) {
  for (const auto& [name, value] : response.headers) {
    head.append(without_control(name)).append(": ").append(without_control(value)).append("\r\n");
  }
  if (const auto size = response.body_size())
    head.append("Content-Length: ").append(std::to_string(*size)).append("\r\n");
}

http::Response answer_of(const http::Application& application, const http::Environ& environ) {
  std::optional<Waiting> waiting;
  if (environ.body && environ.body->size() > kQuickBody) waiting.emplace();
  try {
    return application(environ);
  } catch (...) {
    log_exception("the request gets the status 500 after an exception");
    return {http::Status::internal_server_error, {}, {}};
  }
}

}  // namespace rest_fcgi::gateway
