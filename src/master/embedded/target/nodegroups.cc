// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "master/embedded/minion.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::string_view kNodegroup = "N@";

bool is_operator(std::string_view word) {
  constexpr std::array<std::string_view, 5> kOperators = {"and", "or", "not", "(", ")"};
  return std::find(kOperators.begin(), kOperators.end(), word) != kOperators.end();
}

/// Salt takes words for ids (or, where they hold signs of one, for a regular expression) as long as none of
/// them is an operator, a glob with a star, or begins with a letter and `@`.
bool looks_compound(std::string_view word) {
  const bool lettered = word.size() >= 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] == '@';
  return is_operator(word) || lettered || word.find('*') != std::string_view::npos;
}

lowstate::Target target_of(const std::vector<std::string>& words) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.list.assign(words.begin(), words.end());
  if (std::any_of(words.begin(), words.end(), looks_compound)) return target;
  const auto has_sign = [](std::string_view word) {
    return word.find_first_of("([{\\?}])") != std::string_view::npos;
  };
  if (words.size() == 1 && has_sign(words.front())) {
    target.type = lowstate::TargetType::pcre;
    target.expression = words.front();
  } else {
    target.type = lowstate::TargetType::list;
  }
  return target;
}

Error mistake(std::string_view name, std::string_view what) {
  return {ErrorKind::configuration, format("nodegroups: {}: {}", name, what)};
}

}  // namespace

/// Makes groups in the order in which they need each other.
class Nodegroups::Builder {
 public:
  Builder(const std::vector<NodegroupOptions>& options, const std::vector<Minion>& minions)
      : options_(options), minions_(minions) {}

  Result<Nodegroups> build() {
    for (const NodegroupOptions& group : options_) {
      if (Result<void> added = add(group); !added) return std::move(added).error();
    }
    return std::move(groups_);
  }

 private:
  Result<void> add(const NodegroupOptions& group) {
    if (groups_.find(group.name) != nullptr) return {};
    if (group.words.empty()) return mistake(group.name, "is empty; it must be a compound target");
    if (!open_.insert(group.name).second) return mistake(group.name, "lies in itself");
    if (Result<void> inner = add_inner(group); !inner) return inner;
    open_.erase(group.name);
    const Result<TargetMatcher> matcher = TargetMatcher::compile(target_of(group.words), groups_);
    if (!matcher) return mistake(group.name, matcher.error().message);
    std::vector<std::string_view>& members = groups_.members_[group.name];
    for (const Minion& minion : minions_) {
      if (matcher->matches(minion)) members.push_back(minion.id);
    }
    return {};
  }

  Result<void> add_inner(const NodegroupOptions& group) {
    for (const std::string_view word : group.words) {
      if (word.size() <= kNodegroup.size() || !word.starts_with(kNodegroup)) continue;
      const std::string_view name = word.substr(kNodegroup.size());
      const auto inner = std::find_if(options_.begin(), options_.end(),
                                      [name](const NodegroupOptions& other) { return other.name == name; });
      if (inner == options_.end()) return mistake(group.name, format("there is no nodegroup {}", name));
      if (Result<void> added = add(*inner); !added) return added;
    }
    return {};
  }

  const std::vector<NodegroupOptions>& options_;
  const std::vector<Minion>& minions_;
  std::set<std::string_view> open_;  // those that wait for others
  Nodegroups groups_;
};

Result<Nodegroups> Nodegroups::make(const std::vector<NodegroupOptions>& options,
                                    const std::vector<Minion>& minions) {
  return Builder(options, minions).build();
}

const std::vector<std::string_view>* Nodegroups::find(std::string_view name) const {
  const auto found = members_.find(name);
  return found == members_.end() ? nullptr : &found->second;
}

std::string Nodegroups::names() const {
  std::string names;
  for (const auto& [name, members] : members_) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

}  // namespace rest_fcgi::embedded
