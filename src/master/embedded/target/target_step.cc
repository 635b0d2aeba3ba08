// SPDX-License-Identifier: MIT
#include "master/embedded/target/target_step.h"

#include <algorithm>
#include <utility>

namespace rest_fcgi::embedded::target {

Result<Step> compile_pcre(std::string_view pattern) {
  Result<Regex> regex = Regex::compile(pattern);
  if (!regex) return std::move(regex).error();
  return Step(Pcre{*std::move(regex)});
}

Step compile_list(std::vector<std::string_view> ids) {
  std::sort(ids.begin(), ids.end());
  return List{std::move(ids)};
}

Result<Step> compile_grain(std::string_view expression, std::string_view delimiter, DataMatcher::How how) {
  Result<DataMatcher> matcher = DataMatcher::compile(expression, delimiter, how);
  if (!matcher) return std::move(matcher).error();
  return Step(Grain{*std::move(matcher)});
}

Result<Step> compile_pillar(std::string_view expression, std::string_view delimiter, DataMatcher::How how) {
  Result<DataMatcher> matcher = DataMatcher::compile(expression, delimiter, how);
  if (!matcher) return std::move(matcher).error();
  return Step(Pillar{*std::move(matcher)});
}

Result<Step> compile_ipcidr(std::string_view text) {
  const std::optional<IpNetwork> network = IpNetwork::parse(text, true);
  if (network) return Step(IpCidr{*network});
  return Error{
      ErrorKind::invocation,
      "neither an address such as 10.0.0.1 or fe80::1 nor a network such as 10.0.0.0/8 or fe80::/10, "
      "whose bits behind the prefix are 0"};
}

Error no_range() {
  return {ErrorKind::invocation,
          "range is not supported by the embedded engine, which has no range server to ask"};
}

}  // namespace rest_fcgi::embedded::target
