// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace rest_fcgi::master {

/// The kind of target that Salt makes from the words of a nodegroup.
enum class NodegroupForm {
  compound,  ///< `compound` means that the words are a compound target.
  pcre,      ///< `pcre` means a regular expression, because a word has a special character.
  list,      ///< `list` means that the words are ids of minions.
};

/// Returns the kind of target that Salt makes from `words` (Salt's `_nodegroup_regex`).
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
