// SPDX-License-Identifier: MIT
#include "master/embedded/runners/master_function.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace rest_fcgi::embedded {

namespace {

const MasterFunction* find_in(MasterFunctions functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [name](const MasterFunction& function) { return function.name() == name; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

Result<Bound> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  auto bound = python_bind(read_usage(usage), arguments.args, arguments.kwargs);
  if (const Raised* raised = std::get_if<Raised>(&bound)) {
    return Error{ErrorKind::invocation, raised->message};
  }
  return std::get<Bound>(std::move(bound));
}

const MasterFunction* find_runner(std::string_view name) {
  const MasterFunction* found = find_in(jobs_runners(), name);
  return found != nullptr ? found : find_in(other_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find_in(wheels(), name);
}

}  // namespace rest_fcgi::embedded
