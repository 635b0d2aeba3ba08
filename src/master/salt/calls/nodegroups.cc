// SPDX-License-Identifier: MIT
#include "master/salt/calls/nodegroups.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/master/nodegroup.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::string_view kNodegroup = "N@";
// The largest size in bytes of an expanded target. Groups inside groups can multiply the size.
constexpr std::size_t kMaxBytes = 1 << 20;

std::string_view group_in(std::string_view word) {
  return word.starts_with(kNodegroup) ? word.substr(kNodegroup.size()) : std::string_view();
}

Error invalid_group(std::string message) {
  return {ErrorKind::invocation, std::move(message)};
}

}  // namespace

class Nodegroups::Expansion {
 public:
  explicit Expansion(const Nodegroups& nodegroups) : nodegroups_(nodegroups) {}

  Result<void> add_word(std::string_view word) {
    const std::string_view group = group_in(word);
    return group.empty() ? append(word) : add_group(group);
  }

  Result<void> add_group(std::string_view name) {
    const auto& groups = nodegroups_.groups_;
    const auto group =
        std::find_if(groups.begin(), groups.end(), [name](const auto& one) { return one.name == name; });
    if (group == groups.end()) {
      return invalid_group(
          format("unknown node group '{}'; expected a name in `nodegroups` of the Salt master's file", name));
    }
    if (group->words.empty()) return invalid_group(format("Node group {} is empty.", name));
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      return invalid_group(format("Node group {} contains itself.", name));
    }
    open_.push_back(group->name);
    Result<void> added = add_words(group->words);
    open_.pop_back();
    return added;
  }

  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  Result<void> add_words(const std::vector<std::string>& words) {
    switch (master::form_of(words)) {
      case master::NodegroupForm::list:
        return append("L@" + joined(words, ","));
      case master::NodegroupForm::pcre:
        return append("E@" + joined(words, ","));
      case master::NodegroupForm::compound:
        break;
    }
    if (auto opened = append("("); !opened) return opened;
    for (const std::string& word : words) {
      if (auto added = add_word(word); !added) return added;
    }
    return append(")");
  }

  Result<void> append(std::string_view word) {
    if (text_.size() + word.size() >= kMaxBytes) {
      return invalid_group(format("The target with its node groups has more than {} bytes.", kMaxBytes));
    }
    if (!text_.empty()) text_ += ' ';
    text_ += word;
    return {};
  }

  const Nodegroups& nodegroups_;
  std::vector<std::string_view> open_;
  std::string text_;
};

Nodegroups::Nodegroups(std::vector<master::NodegroupOptions> groups) : groups_(std::move(groups)) {}

bool Nodegroups::may_name_one(const lowstate::Target& target) {
  if (target.type != lowstate::TargetType::compound) return target.type == lowstate::TargetType::nodegroup;
  return target.expression.find(kNodegroup) != std::string_view::npos ||
         std::any_of(target.list.begin(), target.list.end(),
                     [](std::string_view word) { return !group_in(word).empty(); });
}

Result<PublishLoad::Target> Nodegroups::expand(const lowstate::Target& target) const {
  using lowstate::TargetType;
  if (target.type == TargetType::list && !target.as_sent.is(JsonValue::Kind::string)) {
    const std::vector<std::string> ids(target.list.begin(), target.list.end());
    return PublishLoad::Target{target.type, ids, target.delimiter};
  }
  // As in Salt, the master gets and stores the text of the caller. With blanks in it no minion would match.
  if (target.type == TargetType::list) {
    const std::string_view text = target.as_sent.text();
    const bool has_blank = text.find_first_of(" \t\r\n") != std::string_view::npos;
    return PublishLoad::Target{target.type, has_blank ? joined(target.list, ",") : std::string(text),
                               target.delimiter};
  }
  if (target.type != TargetType::nodegroup && target.type != TargetType::compound) {
    return PublishLoad::Target{target.type, std::string(target.expression), target.delimiter};
  }
  Expansion expansion(*this);
  if (target.type == TargetType::nodegroup) {
    if (auto added = expansion.add_group(target.expression); !added) return std::move(added).error();
  } else {
    const auto words = target.list.empty() ? split_words(target.expression) : target.list;
    for (const std::string_view word : words) {
      if (auto added = expansion.add_word(word); !added) return std::move(added).error();
    }
  }
  return PublishLoad::Target{TargetType::compound, std::move(expansion).take(), target.delimiter};
}

}  // namespace rest_fcgi::salt
