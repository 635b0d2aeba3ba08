// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "netapi/replies.h"

using rest_fcgi::ErrorKind;
using rest_fcgi::http::Status;
using rest_fcgi::netapi::row_for;

TEST_CASE("each error kind has its HTTP status") {
  CHECK(row_for(ErrorKind::malformed).status == Status::bad_request);
  CHECK(row_for(ErrorKind::invocation).status == Status::bad_request);
  CHECK(row_for(ErrorKind::authentication).status == Status::unauthorized);
  CHECK(row_for(ErrorKind::authorization).status == Status::unauthorized);
  CHECK(row_for(ErrorKind::throttled).status == Status::too_many_requests);
  CHECK(row_for(ErrorKind::forbidden).status == Status::forbidden);
  CHECK(row_for(ErrorKind::conflict).status == Status::conflict);
  CHECK(row_for(ErrorKind::not_acceptable).status == Status::not_acceptable);
  CHECK(row_for(ErrorKind::unsupported).status == Status::unsupported_media_type);
  CHECK(row_for(ErrorKind::too_large).status == Status::content_too_large);
  CHECK(row_for(ErrorKind::reply_too_large).status == Status::insufficient_storage);
  CHECK(row_for(ErrorKind::not_found).status == Status::not_found);
  CHECK(row_for(ErrorKind::unavailable).status == Status::service_unavailable);
  CHECK(row_for(ErrorKind::timeout).status == Status::gateway_timeout);
  CHECK(row_for(ErrorKind::configuration).status == Status::internal_server_error);
  CHECK(row_for(ErrorKind::internal).status == Status::internal_server_error);
}

TEST_CASE("only internal and configuration errors are confidential") {
  CHECK(row_for(ErrorKind::internal).confidential);
  CHECK(row_for(ErrorKind::configuration).confidential);
  CHECK(!row_for(ErrorKind::unavailable).confidential);
}
