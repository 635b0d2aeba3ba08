// SPDX-License-Identifier: MIT
#include "master/embedded/runners/master_function.h"

#include <algorithm>
#include <optional>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

Error complain(const MasterFunction& function, std::string_view what) {
  const std::string_view name = function.name.substr(function.name.find('.') + 1);
  return {ErrorKind::invocation, format("{}() {}", name, what)};
}

Error too_many(const MasterFunction& function, std::size_t takes, std::size_t required, std::size_t given) {
  const std::string accepted =
      takes == required ? format("{}", takes) : format("from {} to {}", required, takes);
  const bool singular = takes == 1 && required == 1;
  return complain(function, format("takes {} positional argument{} but {} {} given", accepted,
                                   singular ? "" : "s", given, given == 1 ? "was" : "were"));
}

template <std::size_t N>
std::size_t count_named(const std::array<MasterParameter, N>& parameters) {
  return static_cast<std::size_t>(std::count_if(parameters.begin(), parameters.end(),
                                                [](const MasterParameter& p) { return !p.name.empty(); }));
}

template <std::size_t N>
const MasterFunction* find(const std::array<MasterFunctions, N>& tables, std::string_view name) {
  for (const MasterFunctions functions : tables) {
    for (const MasterFunction& function : functions) {
      if (function.name == name) return &function;
    }
  }
  return nullptr;
}

}  // namespace

Result<BoundArguments> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  BoundArguments bound{{}, arguments.args, arguments.kwargs};
  if (any_arguments) return bound;
  const std::size_t takes = count_named(parameters);
  const auto named = [this, takes](std::string_view key) {
    const auto* const end = parameters.begin() + takes;
    return static_cast<std::size_t>(
        std::find_if(parameters.begin(), end, [key](const MasterParameter& p) { return p.name == key; }) -
        parameters.begin());
  };
  std::vector<bool> given(takes);
  bound.values.resize(takes);
  for (std::size_t i = 0; i < std::min(takes, arguments.args.size()); ++i) {
    bound.values[i] = arguments.args[i];
    given[i] = true;
  }
  for (const auto& [key, value] : arguments.kwargs) {
    const std::size_t at = named(key);
    if (at == takes) return complain(*this, format("got an unexpected keyword argument '{}'", key));
    if (given[at]) return complain(*this, format("got multiple values for argument '{}'", key));
    bound.values[at] = value;
    given[at] = true;
  }
  const auto required = static_cast<std::size_t>(std::count_if(
      parameters.begin(), parameters.end(), [](const MasterParameter& p) { return p.required; }));
  if (arguments.args.size() > takes) return too_many(*this, takes, required, arguments.args.size());
  for (std::size_t i = 0; i < takes; ++i) {
    if (given[i] || !parameters[i].required) continue;
    return complain(*this, format("missing 1 required positional argument: '{}'", parameters[i].name));
  }
  return bound;
}

std::array<MasterFunctions, 5> all_runners() {
  return {cache_runners(), doc_runners(), jobs_runners(), manage_runners(), test_runners()};
}

std::array<MasterFunctions, 3> all_wheels() {
  return {config_wheels(), key_wheels(), minions_wheels()};
}

const MasterFunction* find_runner(std::string_view name) {
  return find(all_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find(all_wheels(), name);
}

}  // namespace rest_fcgi::embedded
