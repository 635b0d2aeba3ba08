// SPDX-License-Identifier: MIT
#include "master/embedded/modules/binding.h"

#include <algorithm>
#include <optional>
#include <string>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

class Binder {
 public:
  Binder(const LoadedFunction& function, Call& call)
      : function_(function), parameters_(function.parameters()), call_(call), given_(parameters_.size()) {}

  /// Absent: all is bound.
  std::optional<Raised> bind(std::span<const JsonValue> positional, std::span<const JsonMember> keywords);

 private:
  Raised complaint(const std::string& what) const {
    return Raised::type_error(format("{}() {}", function_.function().python_name, what));
  }
  std::optional<Raised> bind_keyword(const JsonMember& member);
  std::optional<Raised> fill_defaults();
  Raised too_many(std::size_t count) const;
  Raised missing(const std::vector<std::string_view>& names) const;

  const LoadedFunction& function_;
  std::span<const Parameter> parameters_;
  Call& call_;
  std::vector<bool> given_;
};

std::optional<Raised> Binder::bind(std::span<const JsonValue> positional,
                                   std::span<const JsonMember> keywords) {
  const std::size_t named = std::min(positional.size(), parameters_.size());
  call_.arguments.assign(positional.begin(), positional.begin() + static_cast<std::ptrdiff_t>(named));
  call_.arguments.resize(parameters_.size());
  std::fill_n(given_.begin(), named, true);
  for (const JsonMember& member : keywords) {
    if (auto raised = bind_keyword(member)) return raised;
  }
  if (positional.size() > named) {
    if (!function_.function().takes_varargs) return too_many(positional.size());
    call_.varargs.assign(positional.begin() + static_cast<std::ptrdiff_t>(named), positional.end());
  }
  return fill_defaults();
}

std::optional<Raised> Binder::bind_keyword(const JsonMember& member) {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(),
                   [&member](const Parameter& parameter) { return parameter.name == member.key; });
  if (found == parameters_.end()) {
    if (!function_.function().takes_keywords) {
      return complaint(format("got an unexpected keyword argument '{}'", member.key));
    }
    call_.keywords.push_back(member);
    return std::nullopt;
  }
  const auto index = static_cast<std::size_t>(found - parameters_.begin());
  if (given_[index]) return complaint(format("got multiple values for argument '{}'", member.key));
  given_[index] = true;
  call_.arguments[index] = member.value;
  return std::nullopt;
}

std::optional<Raised> Binder::fill_defaults() {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (given_[i]) continue;
    if (i < function_.required()) {
      names.push_back(parameters_[i].name);
    } else {
      call_.arguments[i] = function_.defaults()[i - function_.required()];
    }
  }
  if (names.empty()) return std::nullopt;
  return missing(names);
}

Raised Binder::too_many(std::size_t count) const {
  const std::size_t most = parameters_.size();
  const std::size_t least = function_.required();
  const std::string takes = least == most ? std::to_string(most) : format("from {} to {}", least, most);
  return complaint(format("takes {} positional argument{} but {} {} given", takes,
                          least == 1 && most == 1 ? "" : "s", count, count == 1 ? "was" : "were"));
}

Raised Binder::missing(const std::vector<std::string_view>& names) const {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) list += names.size() > 2 ? ", " : " ";
    if (i != 0 && i + 1 == names.size()) list += "and ";
    list += format("'{}'", names[i]);
  }
  return complaint(format("missing {} required positional argument{}: {}", names.size(),
                          names.size() == 1 ? "" : "s", list));
}

}  // namespace

Reply call_function(const LoadedFunction& function, const Context& context,
                    std::span<const JsonValue> positional, std::span<const JsonMember> keywords) {
  Call call{context, {}, {}, {}};
  if (auto raised = Binder(function, call).bind(positional, keywords)) return *std::move(raised);
  return function.run(call);
}

}  // namespace rest_fcgi::embedded
