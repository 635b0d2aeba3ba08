// SPDX-License-Identifier: MIT
#include "netapi/replies.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <new>
#include <random>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::netapi {
namespace {

using http::Status;
using log::Level;

constexpr bool kPrefixed = true;
constexpr bool kConfidential = true;

// An error that Salt's rest_cherrypy knows has the same status as in rest_cherrypy.
constexpr std::array<ErrorRow, 18> kTable{{
    {ErrorKind::malformed, Status::bad_request, Level::info, "invalid", kPrefixed},
    {ErrorKind::invocation, Status::bad_request, Level::info, "invalid"},
    {ErrorKind::unknown_runner, Status::bad_request, Level::info, "invalid"},
    {ErrorKind::authentication, Status::unauthorized, Level::info, "denied"},
    {ErrorKind::authorization, Status::unauthorized, Level::info, "denied"},
    {ErrorKind::throttled, Status::too_many_requests, Level::info, "throttled"},
    {ErrorKind::forbidden, Status::forbidden, Level::info, "denied"},
    {ErrorKind::conflict, Status::conflict, Level::info, "invalid"},
    {ErrorKind::key_reused, Status::unprocessable_content, Level::info, "invalid"},
    {ErrorKind::not_acceptable, Status::not_acceptable, Level::info, "invalid"},
    {ErrorKind::unsupported, Status::unsupported_media_type, Level::info, "invalid"},
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

}  // namespace

const ErrorRow& row_for(ErrorKind kind) noexcept {
  for (const ErrorRow& row : kTable) {
    if (row.kind == kind) return row;
  }
  return kTable.back();
}

std::vector<master::StartGate> take_gates(std::vector<Completed>& completed) {
  std::vector<master::StartGate> gates;
  for (Completed& one : completed) {
    if (one.reply.gate) gates.push_back(std::move(one.reply.gate));
  }
  return gates;
}

http::Response json_reply(http::Status status, std::string text) {
  http::Response response{status, {}, std::move(text)};
  response.headers.emplace_back("Content-Type", "application/json");
  return response;
}

std::string items_text(std::vector<Completed> completed) {
  std::vector<Json> items;
  for (Completed& chunk : completed)
    std::move(chunk.reply.items.begin(), chunk.reply.items.end(), std::back_inserter(items));
  constexpr std::string_view kHead = R"({"return": [)";
  constexpr std::string_view kTail = "]}";
  std::string text;
  if (items.size() == 1) {
    // Uses the buffer of the item for the result, because an item may be large.
    text = std::move(items.front()).text();
    text.append(kTail).insert(0, kHead);
    return text;
  }
  std::size_t size = kHead.size() + kTail.size();
  for (const Json& item : items) size += item.text().size() + 2;
  text.reserve(size);
  JsonWriter writer(text);
  writer.begin_object().key("return").begin_array();
  for (const Json& item : items) writer.json(item);
  writer.end_array().end_object();
  return text;
}

http::Response status_reply(http::Status status, std::string_view text) {
  std::string body;
  const std::string sentence = format("{}: {}", static_cast<int>(status), text);
  JsonWriter(body).begin_object().key("return").string(sentence).end_object();
  return json_reply(status, std::move(body));
}

std::string log_with_reference(log::Level level, std::string_view subject, std::string_view text) {
  std::string reference = format("{:08X}", std::random_device()());
  write_log(level, format("{}: reference {}: {}", subject, reference, text));
  return reference;
}

Error error_of_exception(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {ErrorKind::unavailable, "Not enough memory for this request; try again later."};
  }
  return {ErrorKind::internal, exception.what()};
}

std::string report(const Error& error, std::string_view remote) {
  const ErrorRow& row = row_for(error.kind);
  const int code = static_cast<int>(row.status);
  if (row.confidential) {
    return format("An unexpected error occurred (reference {})",
                  log_with_reference(row.level, format("{} for {}", code, remote), error.message));
  }
  if (log::enabled(row.level)) write_log(row.level, format("{} for {}: {}", code, remote, error.message));
  return error.message;
}

void write_completed_work(JsonWriter& writer, const Error& error, const std::vector<Completed>& completed) {
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
}

void add_retry_after(const Error& error, http::Response& response) {
  if (response.status == Status::service_unavailable) response.headers.emplace_back("Retry-After", "1");
  if (response.status == Status::too_many_requests) {
    response.headers.emplace_back("Retry-After", std::to_string(error.retry_after.count()));
  }
}

http::Response error_reply(const Error& error, const std::vector<Completed>& completed,
                           std::string_view remote) {
  const ErrorRow& row = row_for(error.kind);
  std::string sentence = report(error, remote);
  if (row.prefixed) sentence.insert(0, format("{}: ", static_cast<int>(row.status)));
  std::string text;
  JsonWriter writer(text);
  writer.begin_object().key("return").string(sentence);
  write_completed_work(writer, error, completed);
  writer.end_object();
  http::Response response = json_reply(row.status, std::move(text));
  add_retry_after(error, response);
  return response;
}

}  // namespace rest_fcgi::netapi
