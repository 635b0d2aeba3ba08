// SPDX-License-Identifier: MIT
#include "master/embedded/python/raised.h"

#include <utility>

namespace rest_fcgi::embedded {

Raised Raised::type_error(std::string message) {
  return {Kind::type_error, "TypeError", std::move(message)};
}

Raised Raised::value_error(std::string message) {
  return {Kind::exception, "ValueError", std::move(message)};
}

Raised Raised::interrupted(std::string message) {
  return {Kind::interrupted, "", std::move(message)};
}

std::string Raised::line() const {
  return message.empty() ? type : type + ": " + message;
}

}  // namespace rest_fcgi::embedded
