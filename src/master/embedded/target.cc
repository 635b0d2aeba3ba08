// SPDX-License-Identifier: MIT
#include "master/embedded/target.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

#include "master/embedded/target_compound.h"
#include "master/embedded/target_grain.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {

namespace target {

namespace {

constexpr std::size_t kMaxQuoted = 80;

}  // namespace

std::string quoted(std::string_view text) {
  if (text.size() <= kMaxQuoted) return format("'{}'", text);
  return format("'{}...'", text.substr(0, kMaxQuoted));
}

Result<Step> compile_pcre(std::string_view pattern) {
  Result<Regex> regex = Regex::compile(pattern);
  if (!regex) return std::move(regex).error();
  return Step(Pcre{*std::move(regex)});
}

Step compile_list(std::vector<std::string_view> ids) {
  std::sort(ids.begin(), ids.end());
  return List{std::move(ids)};
}

Result<Step> compile_grain(std::string_view expression, std::string_view delimiter) {
  std::size_t levels = 0;
  for (std::size_t at = expression.find(delimiter); at != std::string_view::npos;
       at = expression.find(delimiter, at + delimiter.size())) {
    ++levels;
  }
  if (levels <= kMaxLevels) return Step(Grain{expression, delimiter});
  return Error{
      ErrorKind::invocation,
      format("a grain with {} levels below each other; at most {} are accepted", levels, kMaxLevels)};
}

namespace {

/// The step, or its error in a sentence.
Result<Step> in_a_sentence(Result<Step> step, std::string_view expression) {
  if (step) return step;
  return Error{step.error().kind, format("The target {}: {}.", quoted(expression), step.error().message)};
}

Result<Step> compile_single(const lowstate::Target& target) {
  switch (target.type) {
    case lowstate::TargetType::glob:
      return Step(Glob{target.expression});
    case lowstate::TargetType::pcre:
      return in_a_sentence(compile_pcre(target.expression), target.expression);
    case lowstate::TargetType::list:
      return compile_list(target.list);
    case lowstate::TargetType::grain:
      return in_a_sentence(compile_grain(target.expression, target.delimiter), target.expression);
    default:
      return Error{
          ErrorKind::invocation,
          format("The target type '{}' is not supported by the embedded engine; 'tgt_type' can be 'glob', "
                 "'pcre', 'list', 'grain' or 'compound'.",
                 lowstate::name_of(target.type))};
  }
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
  void operator()(const Grain& grain) {
    stack_.push_back(matches_grain(minion_.grains.root(), grain.expression, grain.delimiter));
  }
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

Result<TargetMatcher> TargetMatcher::compile(const lowstate::Target& target) {
  if (target.type == lowstate::TargetType::compound) {
    Result<std::vector<target::Step>> steps =
        target::compile_compound(target.list.empty() ? target::split_words(target.expression) : target.list);
    if (!steps) return std::move(steps).error();
    return TargetMatcher(*std::move(steps));
  }
  Result<target::Step> step = target::compile_single(target);
  if (!step) return std::move(step).error();
  std::vector<target::Step> steps;
  steps.push_back(*std::move(step));
  return TargetMatcher(std::move(steps));
}

Result<TargetMatcher> TargetMatcher::compile_compound(std::string_view expression) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.expression = expression;
  return compile(target);
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
  const Result<TargetMatcher> matcher = TargetMatcher::compile(target);
  if (!matcher) return matcher.error();
  Selection selection;
  for (std::size_t i = 0; i < minions.all().size(); ++i) {
    if (matcher->matches(minions.all()[i])) selection.positions.push_back(i);
  }
  return selection;
}

}  // namespace rest_fcgi::embedded
