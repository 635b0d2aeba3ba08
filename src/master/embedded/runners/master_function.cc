// SPDX-License-Identifier: MIT
#include "master/embedded/runners/master_function.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace rest_fcgi::embedded {

namespace {

/// What a usage says.
Signature signature_of(const MasterFunction& function) {
  const std::string_view name = function.name();
  Signature signature;
  signature.name = name.substr(name.find('.') + 1);
  std::string_view left = function.usage.substr(name.size() + 1);
  left.remove_suffix(1);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(", "), left.size());
    const std::string_view one = left.substr(0, end);
    left.remove_prefix(std::min(end + 2, left.size()));
    if (one.starts_with('*')) {
      (one.starts_with("**") ? signature.takes_keywords : signature.takes_varargs) = true;
      continue;
    }
    signature.parameters.push_back(one.substr(0, one.find('=')));
    if (one.find('=') == std::string_view::npos) ++signature.required;
  }
  return signature;
}

const MasterFunction* find_in(MasterFunctions functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [name](const MasterFunction& function) { return function.name() == name; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

JsonValue BoundArguments::operator[](std::string_view parameter) const {
  const auto found = std::find(parameters.begin(), parameters.end(), parameter);
  return values[static_cast<std::size_t>(found - parameters.begin())];
}

Result<BoundArguments> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  Signature signature = signature_of(*this);
  auto bound = python_bind(signature, arguments.args, arguments.kwargs);
  if (const Raised* raised = std::get_if<Raised>(&bound)) {
    return Error{ErrorKind::invocation, raised->message};
  }
  return BoundArguments{std::get<Bound>(std::move(bound)), std::move(signature.parameters)};
}

const MasterFunction* find_runner(std::string_view name) {
  const MasterFunction* found = find_in(jobs_runners(), name);
  return found != nullptr ? found : find_in(other_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find_in(wheels(), name);
}

}  // namespace rest_fcgi::embedded
