// SPDX-License-Identifier: MIT
#include "master/embedded/modules/cmd_options.h"

#include <algorithm>
#include <array>
#include <string>

#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// What Salt's functions take and these do not, and why.
struct Unsupported {
  std::string_view name;
  std::string_view reason;
};
constexpr std::array kUnsupported = {
    Unsupported{"template", "commands are run as they are, nothing is rendered"},
    Unsupported{"log_callback", "it is for callers in Python"},
    Unsupported{"use_vt", "there is no terminal"},
    Unsupported{"bg", "use the client local_async, whose job can be found again and ended"},
    Unsupported{"password", "it is for Windows"},
    Unsupported{"encoded_cmd", "it is for PowerShell"},
};

bool is_known(std::string_view name) {
  return name == "stdin_raw_newlines" ||
         std::any_of(kCmdRunParameters.begin(), kCmdRunParameters.end(),
                     [name](const Parameter& parameter) { return parameter.name == name; });
}

bool is_utf8(std::string_view encoding) {
  std::string name;
  for (const char c : encoding) {
    if (c != '-' && c != '_') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return name == "utf8";
}

}  // namespace

CmdOptions::CmdOptions(const Call& call, std::span<const Parameter> own) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    options_.push_back({own[i].name, call.arguments[i]});
  for (const JsonMember& keyword : call.keywords) {
    if (!keyword.key.starts_with("__pub_")) options_.push_back(keyword);
  }
}

JsonValue CmdOptions::operator[](std::string_view name) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [name](const JsonMember& option) { return option.key == name; });
  return found == options_.end() ? JsonValue() : found->value;
}

void CmdOptions::set(std::string_view name, const JsonValue& value) {
  remove(name);
  options_.push_back({name, value});
}

void CmdOptions::remove(std::string_view name) {
  std::erase_if(options_, [name](const JsonMember& option) { return option.key == name; });
}

std::optional<Raised> CmdOptions::complaint() const {
  for (const JsonMember& option : options_) {
    if (!is_known(option.key)) {
      return invocation_error(format("The argument '{}' is not known here.", option.key));
    }
  }
  for (const auto& [name, reason] : kUnsupported) {
    if (python_bool((*this)[name])) {
      return invocation_error(format("The argument '{}' is not supported: {}.", name, reason));
    }
  }
  const JsonValue encoding = (*this)["output_encoding"];
  if (!encoding.is(JsonValue::Kind::null) && !is_utf8(encoding.text())) {
    return invocation_error(
        format("The output_encoding '{}' is not supported: output is read as UTF-8.", encoding.python_str()));
  }
  return std::nullopt;
}

}  // namespace rest_fcgi::embedded
