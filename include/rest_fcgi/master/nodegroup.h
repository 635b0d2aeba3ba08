// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace rest_fcgi::master {

/// How Salt reads the words of a nodegroup.
enum class NodegroupForm {
  compound,  ///< a compound target
  pcre,      ///< a regular expression: a word has one of its special characters
  list,      ///< ids
};

/// Returns compound if a word is an operator, has a star, or begins with a letter and `@`, as Salt's
/// `_nodegroup_regex`.
[[nodiscard]] inline NodegroupForm form_of(std::span<const std::string> words) {
  const auto looks_compound = [](std::string_view word) {
    const bool lettered = word.size() >= 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] == '@';
    return lettered || word == "and" || word == "or" || word == "not" || word == "(" || word == ")" ||
           word.find('*') != std::string_view::npos;
  };
  const auto has_sign = [](std::string_view word) {
    return word.find_first_of("([{\\?}])") != std::string_view::npos;
  };
  if (std::any_of(words.begin(), words.end(), looks_compound)) return NodegroupForm::compound;
  if (std::any_of(words.begin(), words.end(), has_sign)) return NodegroupForm::pcre;
  return NodegroupForm::list;
}

}  // namespace rest_fcgi::master
