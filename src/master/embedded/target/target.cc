// SPDX-License-Identifier: MIT
#include "master/embedded/target/target.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

#include "master/embedded/target/target_compound.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace target {

namespace {

/// The step, or its error in a sentence.
Result<Step> in_a_sentence(Result<Step> step, std::string_view expression) {
  if (step) return step;
  return Error{step.error().kind, format("The target {}: {}.", quoted(expression), step.error().message)};
}

/// Of all types but `list`, `nodegroup` and `compound`.
Result<Step> compile_expression(const lowstate::Target& target) {
  using How = DataMatcher::How;
  switch (target.type) {
    case lowstate::TargetType::pcre:
      return compile_pcre(target.expression);
    case lowstate::TargetType::grain:
      return compile_grain(target.expression, target.delimiter, How::glob);
    case lowstate::TargetType::grain_pcre:
      return compile_grain(target.expression, target.delimiter, How::pcre);
    case lowstate::TargetType::pillar:
      return compile_pillar(target.expression, target.delimiter, How::glob);
    case lowstate::TargetType::pillar_pcre:
      return compile_pillar(target.expression, target.delimiter, How::pcre);
    case lowstate::TargetType::pillar_exact:
      return compile_pillar(target.expression, target.delimiter, How::exact);
    case lowstate::TargetType::ipcidr:
      return compile_ipcidr(target.expression);
    case lowstate::TargetType::range:
      return no_range();
    default:
      return Step(Glob{target.expression});
  }
}

Result<Step> compile_single(const lowstate::Target& target, const Nodegroups& nodegroups) {
  if (target.type == lowstate::TargetType::list) return compile_list(target.list);
  if (target.type == lowstate::TargetType::nodegroup) {
    return in_a_sentence(compile_nodegroup(target.expression, nodegroups), target.expression);
  }
  return in_a_sentence(compile_expression(target), target.expression);
}

/// Is one of the minion's addresses in the network, by its grain `ipv4` or `ipv6`?
bool has_address_in(const Minion& minion, const IpNetwork& network) {
  const auto addresses = minion.grains.root().find(network.address.version() == 4 ? "ipv4" : "ipv6");
  if (!addresses) return false;
  const auto inside = [&network](JsonValue value) {
    const auto address = IpAddress::parse(value.text());
    return address && network.contains(*address);
  };
  if (!addresses->is(JsonValue::Kind::array)) return inside(*addresses);
  for (const JsonValue value : addresses->elements()) {
    if (inside(value)) return true;
  }
  return false;
}

/// Runs the steps for one minion.
class Evaluation {
 public:
  explicit Evaluation(const Minion& minion) : minion_(minion) {}

  bool run(const std::vector<Step>& steps) {
    for (const Step& step : steps) std::visit(*this, step);
    return stack_.back();
  }

  void operator()(const Glob& glob) { stack_.push_back(glob_match(glob.pattern, minion_.id)); }
  void operator()(const Pcre& pcre) { stack_.push_back(pcre.regex.match_start(minion_.id)); }
  void operator()(const List& list) {
    stack_.push_back(std::binary_search(list.ids.begin(), list.ids.end(), minion_.id));
  }
  void operator()(const Grain& grain) { stack_.push_back(grain.matcher.matches(minion_.grains.root())); }
  void operator()(const Pillar& pillar) { stack_.push_back(pillar.matcher.matches(minion_.pillar.root())); }
  void operator()(const IpCidr& ipcidr) { stack_.push_back(has_address_in(minion_, ipcidr.network)); }
  void operator()(const Not&) { stack_.back() = !stack_.back(); }
  void operator()(const And&) {
    const bool right = pop();
    stack_.back() = stack_.back() && right;
  }
  void operator()(const Or&) {
    const bool right = pop();
    stack_.back() = stack_.back() || right;
  }

 private:
  bool pop() {
    const bool top = stack_.back();
    stack_.pop_back();
    return top;
  }

  const Minion& minion_;
  std::vector<bool> stack_;
};

}  // namespace
}  // namespace target

Result<TargetMatcher> TargetMatcher::compile(const lowstate::Target& target, const Nodegroups& nodegroups) {
  if (target.type == lowstate::TargetType::compound) {
    Result<std::vector<target::Step>> steps = target::compile_compound(
        target.list.empty() ? target::split_words(target.expression) : target.list, nodegroups);
    if (!steps) return std::move(steps).error();
    return TargetMatcher(*std::move(steps));
  }
  Result<target::Step> step = target::compile_single(target, nodegroups);
  if (!step) return std::move(step).error();
  std::vector<target::Step> steps;
  steps.push_back(*std::move(step));
  return TargetMatcher(std::move(steps));
}

Result<TargetMatcher> TargetMatcher::compile_compound(std::string_view expression,
                                                      const Nodegroups& nodegroups) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.expression = expression;
  return compile(target, nodegroups);
}

bool TargetMatcher::matches(const Minion& minion) const {
  // The common case needs no stack.
  if (const auto* glob = std::get_if<target::Glob>(&steps_.front()); glob != nullptr && steps_.size() == 1) {
    return glob_match(glob->pattern, minion.id);
  }
  return target::Evaluation(minion).run(steps_);
}

Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids) {
  Selection selection;
  std::unordered_set<std::string_view> missing;
  for (const std::string_view id : ids) {
    if (const auto position = minions.position(id)) {
      selection.positions.push_back(*position);
    } else if (missing.insert(id).second) {
      selection.missing.emplace_back(id);
    }
  }
  std::sort(selection.positions.begin(), selection.positions.end());
  selection.positions.erase(std::unique(selection.positions.begin(), selection.positions.end()),
                            selection.positions.end());
  return selection;
}

Result<Selection> select(const Minions& minions, const lowstate::Target& target) {
  if (target.type == lowstate::TargetType::list) return select_ids(minions, target.list);
  const Result<TargetMatcher> matcher = TargetMatcher::compile(target, minions.nodegroups());
  if (!matcher) return matcher.error();
  Selection selection;
  for (std::size_t i = 0; i < minions.all().size(); ++i) {
    if (matcher->matches(minions.all()[i])) selection.positions.push_back(i);
  }
  return selection;
}

}  // namespace rest_fcgi::embedded
