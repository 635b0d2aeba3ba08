// SPDX-License-Identifier: MIT
#include "netapi/replies.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::netapi {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&lower](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Takes off what stands before the next semicolon outside of quotes, and that semicolon.
std::string_view take_part(std::string_view& rest) {
  bool quoted = false;
  std::size_t end = 0;
  while (end < rest.size() && (quoted || rest[end] != ';')) {
    if (rest[end] == '"') quoted = !quoted;
    if (quoted && rest[end] == '\\') ++end;
    ++end;
  }
  end = std::min(end, rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

std::string_view without_quotes(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' && value.back() == '"' ? value.substr(1, value.size() - 2)
                                                                          : value;
}

using http::Status;
using log::Level;

constexpr bool kPrefixed = true;
constexpr bool kConfidential = true;

// The statuses are those of Salt's rest_cherrypy, which tells failures apart where rest_wsgi says 500.
constexpr std::array<ErrorRow, 12> kTable{{
    {ErrorKind::malformed, Status::bad_request, Level::info, "invalid", kPrefixed},
    {ErrorKind::invocation, Status::bad_request, Level::info, "invalid"},
    {ErrorKind::authentication, Status::unauthorized, Level::info, "denied"},
    {ErrorKind::authorization, Status::unauthorized, Level::info, "denied"},
    {ErrorKind::throttled, Status::too_many_requests, Level::info, "throttled"},
    {ErrorKind::too_large, Status::content_too_large, Level::info, "invalid", kPrefixed},
    {ErrorKind::reply_too_large, Status::insufficient_storage, Level::warning, "failed"},
    {ErrorKind::not_found, Status::not_found, Level::info, "failed"},
    {ErrorKind::unavailable, Status::service_unavailable, Level::warning, "unavailable"},
    {ErrorKind::timeout, Status::gateway_timeout, Level::warning, "timeout"},
    {ErrorKind::configuration, Status::internal_server_error, Level::error, "failed", false, kConfidential},
    {ErrorKind::internal, Status::internal_server_error, Level::error, "failed", false, kConfidential},
}};

void write_log(log::Level level, std::string_view message) {
  if (level == log::Level::info) return log::info(message);
  return level == log::Level::warning ? log::warning(message) : log::error(message);
}

/// What the caller reads of an error; the log gets the whole of it.
std::string tell(const Error& error, const ErrorRow& row, std::string_view remote) {
  const int code = static_cast<int>(row.status);
  if (row.confidential) {
    const std::string reference = format("{:08X}", std::random_device()());
    write_log(row.level, format("{} for {}: reference {}: {}", code, remote, reference, error.message));
    return format("An unexpected error occurred (reference {})", reference);
  }
  if (log::enabled(row.level)) write_log(row.level, format("{} for {}: {}", code, remote, error.message));
  return row.prefixed ? format("{}: {}", code, error.message) : error.message;
}

void write_completed(JsonWriter& writer, const Completed& completed) {
  const auto& [client, reply] = completed;
  writer.begin_object();
  if (!reply.jid.empty()) writer.key("jid").string(reply.jid);
  writer.key("return");
  const bool is_list = client == lowstate::Client::local_batch;
  if (is_list) writer.begin_array();
  for (const Json& item : reply.items) writer.json(item);
  if (is_list) writer.end_array();
  writer.end_object();
}

constexpr std::string_view kHead = R"({"return": [)";
constexpr std::string_view kTail = "]}";

/// The reply of one item, without a second copy of what may be a hundred megabytes.
std::string around_one(Json item) {
  std::string text = std::move(item).text();
  text.append(kTail).insert(0, kHead);
  return text;
}

std::string around_all(const std::vector<Json>& items) {
  std::size_t size = kHead.size() + kTail.size();
  for (const Json& item : items) size += item.text().size() + 2;
  std::string text;
  text.reserve(size);
  JsonWriter writer(text);
  writer.begin_object().key("return").begin_array();
  for (const Json& item : items) writer.json(item);
  writer.end_array().end_object();
  return text;
}

}  // namespace

bool is_json(std::string_view content_type) {
  if (!equal_ignoring_case(take_part(content_type), "application/json")) return false;
  while (!content_type.empty()) {
    const std::string_view parameter = take_part(content_type);
    const std::size_t equals = parameter.find('=');
    if (equals == std::string_view::npos || !equal_ignoring_case(parameter.substr(0, equals), "charset"))
      continue;
    if (!equal_ignoring_case(without_quotes(parameter.substr(equals + 1)), "utf-8")) return false;
  }
  return true;
}

const ErrorRow& row_for(ErrorKind kind) noexcept {
  for (const ErrorRow& row : kTable) {
    if (row.kind == kind) return row;
  }
  return kTable.back();
}

http::Response json_reply(http::Status status, std::string text) {
  return {status, {{"Content-Type", "application/json"}}, std::move(text)};
}

http::Response items_reply(std::vector<Completed> completed) {
  std::vector<Json> items;
  for (Completed& chunk : completed)
    std::move(chunk.reply.items.begin(), chunk.reply.items.end(), std::back_inserter(items));
  return json_reply(http::Status::ok,
                    items.size() == 1 ? around_one(std::move(items.front())) : around_all(items));
}

http::Response status_reply(http::Status status, std::string_view text) {
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("return")
      .string(format("{}: {}", static_cast<int>(status), text))
      .end_object();
  return json_reply(status, std::move(body));
}

http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                           std::string_view remote) {
  const ErrorRow& row = row_for(error.kind);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("return").string(tell(error, row, remote));
  if (!error.jid.empty()) writer.key("jid").string(error.jid);
  const bool partial = !completed.empty() && completed.back().reply.failure;
  const std::size_t whole = completed.size() - (partial ? 1 : 0);
  if (whole > 0) {
    writer.key("completed").begin_array();
    for (std::size_t i = 0; i < whole; ++i) write_completed(writer, completed[i]);
    writer.end_array();
  }
  if (partial) {
    writer.key("partial");
    write_completed(writer, completed.back());
  }
  writer.end_object();
  http::Response response = json_reply(row.status, std::move(text));
  if (row.status == http::Status::service_unavailable) response.headers.emplace_back("Retry-After", "1");
  if (row.status == http::Status::too_many_requests) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after.count()));
  }
  return response;
}

}  // namespace rest_fcgi::netapi
