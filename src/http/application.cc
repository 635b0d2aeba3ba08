// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/application.h"

#include <algorithm>
#include <ctime>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::http {
namespace {

struct Reason {
  Status status;
  std::string_view text;
};

constexpr Reason kReasons[] = {
    {Status::switching_protocols, "Switching Protocols"},
    {Status::ok, "OK"},
    {Status::accepted, "Accepted"},
    {Status::no_content, "No Content"},
    {Status::moved_permanently, "Moved Permanently"},
    {Status::not_modified, "Not Modified"},
    {Status::bad_request, "Bad Request"},
    {Status::unauthorized, "Unauthorized"},
    {Status::forbidden, "Forbidden"},
    {Status::not_found, "Not Found"},
    {Status::method_not_allowed, "Method Not Allowed"},
    {Status::not_acceptable, "Not Acceptable"},
    {Status::request_timeout, "Request Timeout"},
    {Status::conflict, "Conflict"},
    // rest_cherrypy sends this older phrase. RFC 9110 names the status "Content Too Large".
    {Status::content_too_large, "Request Entity Too Large"},
    {Status::unsupported_media_type, "Unsupported Media Type"},
    {Status::unprocessable_content, "Unprocessable Content"},
    {Status::upgrade_required, "Upgrade Required"},
    {Status::too_many_requests, "Too Many Requests"},
    {Status::request_header_fields_too_large, "Request Header Fields Too Large"},
    {Status::internal_server_error, "Internal Server Error"},
    {Status::service_unavailable, "Service Unavailable"},
    {Status::gateway_timeout, "Gateway Timeout"},
    {Status::http_version_not_supported, "HTTP Version Not Supported"},
    {Status::insufficient_storage, "Insufficient Storage"},
};

bool is_request_id(std::string_view text) {
  constexpr std::size_t kLongest = 128;
  static constexpr std::string_view kOthers = "-_.:@=+/";
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOthers.find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string_view Environ::get(std::string_view name) const noexcept {
  const char* const text = text_.data();
  for (auto it = variables_.rbegin(); it != variables_.rend(); ++it) {
    if (std::string_view(text + it->name, it->name_size) == name) return {text + it->value, it->value_size};
  }
  return {};
}

std::vector<std::pair<std::string_view, std::string_view>> Environ::all() const {
  const std::string_view text = text_;
  std::vector<std::pair<std::string_view, std::string_view>> all;
  all.reserve(variables_.size());
  for (const Variable& one : variables_) {
    all.emplace_back(text.substr(one.name, one.name_size), text.substr(one.value, one.value_size));
  }
  return all;
}

void Environ::set(std::string_view variable, std::size_t equals) {
  const auto at = static_cast<std::uint32_t>(text_.size());
  const auto name_size = static_cast<std::uint32_t>(equals);
  text_ += variable;
  variables_.push_back(
      {at, name_size, at + name_size + 1, static_cast<std::uint32_t>(variable.size() - equals - 1)});
}

void Environ::set(std::string_view name, std::string_view value) {
  const auto at = static_cast<std::uint32_t>(text_.size());
  text_.append(name).append(value);
  variables_.push_back({at, static_cast<std::uint32_t>(name.size()),
                        at + static_cast<std::uint32_t>(name.size()),
                        static_cast<std::uint32_t>(value.size())});
}

// Writes English names of days and months. strftime(3) would write names in the locale's language.
std::string http_date(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

bool may_have_body(Status status) noexcept {
  return status != Status::no_content && status != Status::not_modified;
}

std::optional<std::uint64_t> Response::body_size() const {
  if (!may_have_body(status)) return std::nullopt;
  const auto* text = std::get_if<std::string>(&body);
  return text != nullptr ? text->size() : stream_size;
}

std::string_view reason(Status status) noexcept {
  for (const Reason& row : kReasons) {
    if (row.status == status) return row.text;
  }
  return "Unknown";
}

Application with_request_id(Application application) {
  return [application = std::move(application)](const Environ& environ) {
    const std::string_view id = environ.get("REQUEST_ID");
    if (!is_request_id(id)) return application(environ);
    const log::RequestScope scope(id);
    Response response = application(environ);
    response.headers.emplace_back("X-Request-ID", id);
    return response;
  };
}

}  // namespace rest_fcgi::http
