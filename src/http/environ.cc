// SPDX-License-Identifier: MIT
#include "rest_fcgi/http/environ.h"

namespace rest_fcgi::http {

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

}  // namespace rest_fcgi::http
