// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>
#include <utility>

#include "master/embedded/minion.h"
#include "master/embedded/target/target.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/nodegroup.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::string_view kNodegroup = "N@";

/// A regular expression is one word; of several, each is an id.
lowstate::Target target_of(const std::vector<std::string>& words) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.list.assign(words.begin(), words.end());
  const master::NodegroupForm form = master::form_of(words);
  if (form == master::NodegroupForm::compound) return target;
  if (form == master::NodegroupForm::pcre && words.size() == 1) {
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
  Builder(const std::vector<master::NodegroupOptions>& options, const std::vector<Minion>& minions)
      : options_(options), minions_(minions) {}

  Result<Nodegroups> build() {
    for (const master::NodegroupOptions& group : options_) {
      if (Result<void> added = add(group); !added) return std::move(added).error();
    }
    return std::move(groups_);
  }

 private:
  Result<void> add(const master::NodegroupOptions& group) {
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

  Result<void> add_inner(const master::NodegroupOptions& group) {
    for (const std::string_view word : group.words) {
      if (word.size() <= kNodegroup.size() || !word.starts_with(kNodegroup)) continue;
      const std::string_view name = word.substr(kNodegroup.size());
      const auto inner =
          std::find_if(options_.begin(), options_.end(),
                       [name](const master::NodegroupOptions& other) { return other.name == name; });
      if (inner == options_.end()) return mistake(group.name, format("there is no nodegroup {}", name));
      if (Result<void> added = add(*inner); !added) return added;
    }
    return {};
  }

  const std::vector<master::NodegroupOptions>& options_;
  const std::vector<Minion>& minions_;
  std::set<std::string_view> open_;  // those that wait for others
  Nodegroups groups_;
};

Result<Nodegroups> Nodegroups::make(const std::vector<master::NodegroupOptions>& options,
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
