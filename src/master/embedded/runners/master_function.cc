// SPDX-License-Identifier: MIT
#include "master/embedded/runners/master_function.h"

#include <algorithm>
#include <string>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

struct MasterParameter {
  std::string_view name;
  bool required = false;
};

/// What stands between the parentheses of a usage.
std::vector<MasterParameter> parameters_in(std::string_view usage) {
  std::vector<MasterParameter> parameters;
  std::string_view left = usage.substr(usage.find('(') + 1);
  left.remove_suffix(1);
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(", "), left.size());
    const std::string_view one = left.substr(0, end);
    parameters.push_back({one.substr(0, one.find('=')), one.find('=') == std::string_view::npos});
    left.remove_prefix(std::min(end + 2, left.size()));
  }
  return parameters;
}

/// Puts arguments to parameters as Python does.
class MasterBinder {
 public:
  MasterBinder(const MasterFunction& function, const lowstate::MasterArguments& arguments)
      : function_(function), arguments_(arguments), parameters_(parameters_in(function.usage)) {}

  Result<BoundArguments> bind() {
    BoundArguments bound{arguments_.args, arguments_.kwargs, {}};
    if (!parameters_.empty() && parameters_.front().name == "*args") return bound;
    const std::size_t positional = std::min(parameters_.size(), arguments_.args.size());
    std::vector<bool> given(parameters_.size());
    for (const MasterParameter& parameter : parameters_) bound.named.push_back({parameter.name, {}});
    for (std::size_t i = 0; i < positional; ++i) {
      bound.named[i].value = arguments_.args[i];
      given[i] = true;
    }
    for (const auto& [key, value] : arguments_.kwargs) {
      const auto found = std::find_if(bound.named.begin(), bound.named.end(),
                                      [name = key](const JsonMember& member) { return member.key == name; });
      if (found == bound.named.end())
        return complaint(format("got an unexpected keyword argument '{}'", key));
      const auto at = static_cast<std::size_t>(found - bound.named.begin());
      if (given[at]) return complaint(format("got multiple values for argument '{}'", key));
      found->value = value;
      given[at] = true;
    }
    if (arguments_.args.size() > positional) return too_many();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (given[i] || !parameters_[i].required) continue;
      return complaint(format("missing 1 required positional argument: '{}'", parameters_[i].name));
    }
    return bound;
  }

 private:
  [[nodiscard]] Error complaint(std::string_view what) const {
    const std::string_view name = function_.name();
    return {ErrorKind::invocation, format("{}() {}", name.substr(name.find('.') + 1), what)};
  }

  [[nodiscard]] Error too_many() const {
    const std::size_t takes = parameters_.size();
    const auto required = static_cast<std::size_t>(std::count_if(
        parameters_.begin(), parameters_.end(), [](const MasterParameter& p) { return p.required; }));
    const std::string accepted =
        takes == required ? format("{}", takes) : format("from {} to {}", required, takes);
    const std::size_t given = arguments_.args.size();
    return complaint(format("takes {} positional argument{} but {} {} given", accepted,
                            takes == 1 && required == 1 ? "" : "s", given, given == 1 ? "was" : "were"));
  }

  const MasterFunction& function_;
  const lowstate::MasterArguments& arguments_;
  const std::vector<MasterParameter> parameters_;
};

const MasterFunction* find_in(MasterFunctions functions, std::string_view name) {
  const auto found = std::find_if(functions.begin(), functions.end(),
                                  [name](const MasterFunction& function) { return function.name() == name; });
  return found == functions.end() ? nullptr : &*found;
}

}  // namespace

JsonValue BoundArguments::operator[](std::string_view parameter) const {
  return std::find_if(named.begin(), named.end(),
                      [parameter](const JsonMember& member) { return member.key == parameter; })
      ->value;
}

Result<BoundArguments> MasterFunction::bind(const lowstate::MasterArguments& arguments) const {
  return MasterBinder(*this, arguments).bind();
}

const MasterFunction* find_runner(std::string_view name) {
  const MasterFunction* found = find_in(jobs_runners(), name);
  return found != nullptr ? found : find_in(other_runners(), name);
}

const MasterFunction* find_wheel(std::string_view name) {
  return find_in(wheels(), name);
}

}  // namespace rest_fcgi::embedded
