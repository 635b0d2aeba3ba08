// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "master/embedded/target/target_data.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"

/// What a compiled target is made of.
namespace rest_fcgi::embedded::target {

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< sorted
};
struct Grain {
  DataMatcher matcher;
};
struct Pillar {
  DataMatcher matcher;
};
struct IpCidr {
  IpNetwork network;  ///< of one address where that is asked for
};
struct Not {};
struct And {};
struct Or {};

/// Operands push whether they match; operators work on what was pushed before them (postfix order, which has
/// no brackets and needs no recursion).
using Step = std::variant<Glob, Pcre, List, Grain, Pillar, IpCidr, Not, And, Or>;

// Each gives a step, or says in words that go into a sentence what is wrong.
[[nodiscard]] Result<Step> compile_pcre(std::string_view pattern);
[[nodiscard]] Step compile_list(std::vector<std::string_view> ids);
[[nodiscard]] Result<Step> compile_grain(std::string_view expression, std::string_view delimiter,
                                         DataMatcher::How how);
[[nodiscard]] Result<Step> compile_pillar(std::string_view expression, std::string_view delimiter,
                                          DataMatcher::How how);
[[nodiscard]] Result<Step> compile_ipcidr(std::string_view text);
/// Errors: invocation. There is no range server to ask.
[[nodiscard]] Error no_range();

}  // namespace rest_fcgi::embedded::target
