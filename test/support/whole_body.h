// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "rest_fcgi/http/application.h"

namespace rest_fcgi::test {

inline std::string whole_body(const http::Response& response) {
  const auto* stream = std::get_if<std::unique_ptr<http::Stream>>(&response.body);
  if (stream == nullptr) return response.text();
  std::string text;
  for (auto part = (*stream)->next(); part && !part->empty(); part = (*stream)->next()) text += *part;
  return text;
}

}  // namespace rest_fcgi::test
