// SPDX-License-Identifier: MIT
#include "netapi/error_table.h"

#include <array>

namespace rest_fcgi::netapi {
namespace {

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

}  // namespace

const ErrorRow& row_for(ErrorKind kind) noexcept {
  for (const ErrorRow& row : kTable) {
    if (row.kind == kind) return row;
  }
  return kTable.back();
}

}  // namespace rest_fcgi::netapi
