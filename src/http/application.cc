// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/application.h"

namespace rest_fcgi::http {
namespace {

struct Reason {
  Status status;
  std::string_view text;
};

constexpr Reason kReasons[] = {
    {Status::ok, "OK"},
    {Status::bad_request, "Bad Request"},
    {Status::unauthorized, "Unauthorized"},
    {Status::not_found, "Not Found"},
    {Status::method_not_allowed, "Method Not Allowed"},
    {Status::not_acceptable, "Not Acceptable"},
    // RFC 9110 says "Content Too Large"; this is what callers of Salt's rest_cherrypy know.
    {Status::content_too_large, "Request Entity Too Large"},
    {Status::too_many_requests, "Too Many Requests"},
    {Status::internal_server_error, "Internal Server Error"},
    {Status::service_unavailable, "Service Unavailable"},
    {Status::gateway_timeout, "Gateway Timeout"},
    {Status::insufficient_storage, "Insufficient Storage"},
};

}  // namespace

std::string_view Environ::get(std::string_view name) const noexcept {
  const std::string_view text = text_;
  for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
    if (text.substr(it->name, it->name_size) == name) return text.substr(it->value, it->value_size);
  }
  return {};
}

void Environ::set(std::string_view name, std::string_view value) {
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_.append(name).append(value);
  variables_.push_back({at, static_cast<std::uint32_t>(name.size()),
                        at + static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
}

void Environ::clear() noexcept {
  constexpr std::size_t kKeptCapacity = 64u << 10;
  if (text_.capacity() > kKeptCapacity) {
    text_ = std::string();
    variables_ = std::vector<Variable>();
  }
  text_.clear();
  variables_.clear();
  body = std::string_view();
}

std::string_view reason(Status status) noexcept {
  for (const Reason& row : kReasons) {
    if (row.status == status) return row.text;
  }
  return "Unknown";
}

}  // namespace rest_fcgi::http
