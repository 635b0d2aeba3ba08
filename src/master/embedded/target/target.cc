// SPDX-License-Identifier: MIT
#include "master/embedded/target/target.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "master/embedded/text.h"
#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/master/nodegroup.h"

namespace rest_fcgi::embedded {

namespace target {

Result<Regex> compile_regex(std::string_view pattern, Work& work) {
  constexpr std::size_t kEach = 40;
  constexpr std::size_t kBytesOfCode = 4;
  if (!work.spend(kEach + pattern.size())) return Work::error();
  Result<Regex> regex = Regex::compile(pattern);
  if (regex && !work.spend(regex->size() / kBytesOfCode)) return Work::error();
  return regex;
}

bool match_regex(const Regex& regex, std::string_view text, Work& work) {
  constexpr std::size_t kStepsOfUnit = 8;
  constexpr std::size_t kShort = 256;  // In a longer text a step may take longer.
  std::size_t steps = 0;
  const Regex::Match match = regex.match_start(text, steps);
  if (match == Regex::Match::beyond) work.stop();
  return work.spend((steps / kStepsOfUnit + 1) * (1 + text.size() / kShort)) && match == Regex::Match::yes;
}

namespace {

Result<Step> compile_pcre(std::string_view pattern, Work& work) {
  Result<Regex> regex = compile_regex(pattern, work);
  if (!regex) return std::move(regex).error();
  return Step(Pcre{*std::move(regex)});
}

Result<Step> compile_data(const lowstate::Target& target, JsonDocument Minion::*of, DataMatcher::How how,
                          Work& work) {
  Result<DataMatcher> matcher = DataMatcher::compile(target.expression, target.delimiter, how, work);
  if (!matcher) return std::move(matcher).error();
  return Step(Data{of, *std::move(matcher)});
}

Result<Step> compile_ipcidr(std::string_view text) {
  const std::optional<IpNetwork> network = IpNetwork::parse(text);
  if (network) return Step(IpCidr{*network});
  return Error{
      ErrorKind::invocation,
      "expected an address such as 10.0.0.1 or fe80::1, or a network such as 10.0.0.0/8 or fe80::/10 "
      "with zero bits after the prefix"};
}

Result<Step> compile_nodegroup(std::string_view name, const Nodegroups& nodegroups, Work& work) {
  if (const auto* ids = nodegroups.find(name)) {
    if (!work.spend(ids->size() / 10)) return Work::error();
    return Step(List{*ids, nodegroups.looks_into_pillar(name)});
  }
  const std::string names = nodegroups.names();
  return Error{ErrorKind::invocation, names.empty() ? "unknown nodegroup; the configuration has no nodegroups"
                                                    : "unknown nodegroup; nodegroups: " + names};
}

/// The work to sort one id into a list.
constexpr std::size_t kSorting = 3;

}  // namespace

Result<Step> compile_operand(const lowstate::Target& target, const Nodegroups& nodegroups, Work& work) {
  using How = DataMatcher::How;
  List list;
  if (!work.spend(kSorting * (1 + target.list.size()))) return Work::error();
  switch (target.type) {
    case lowstate::TargetType::list:
      list.ids = target.list;
      std::sort(list.ids.begin(), list.ids.end());
      return Step(std::move(list));
    case lowstate::TargetType::pcre:
      return compile_pcre(target.expression, work);
    case lowstate::TargetType::grain:
      return compile_data(target, &Minion::grains, How::glob, work);
    case lowstate::TargetType::grain_pcre:
      return compile_data(target, &Minion::grains, How::pcre, work);
    case lowstate::TargetType::pillar:
      return compile_data(target, &Minion::pillar, How::glob, work);
    case lowstate::TargetType::pillar_pcre:
      return compile_data(target, &Minion::pillar, How::pcre, work);
    case lowstate::TargetType::pillar_exact:
      return compile_data(target, &Minion::pillar, How::exact, work);
    case lowstate::TargetType::nodegroup:
      return compile_nodegroup(target.expression, nodegroups, work);
    case lowstate::TargetType::ipcidr:
      return compile_ipcidr(target.expression);
    case lowstate::TargetType::range:
      return Error{ErrorKind::invocation, "the embedded engine does not support targets of type range"};
    default:
      return Step(Glob{target.expression});
  }
}

namespace {

bool has_address_in(const Minion& minion, const IpNetwork& network, Work& work) {
  const auto addresses = minion.grains.root().find(network.address.version() == 4 ? "ipv4" : "ipv6");
  if (!addresses) return false;
  const auto inside = [&network](JsonValue value) {
    const auto address = IpAddress::parse(value.text());
    return address && network.contains(*address);
  };
  if (!work.spend(1 + addresses->size())) return false;
  if (!addresses->is(JsonValue::Kind::array)) return inside(*addresses);
  for (const JsonValue value : addresses->elements()) {
    if (inside(value)) return true;
  }
  return false;
}

bool match_id(const Glob& glob, const Minion& minion, Work& work) {
  // A glob may read the id once for each of its stars.
  constexpr std::size_t kShort = 16;
  const bool is_left = work.spend(1 + glob.pattern.size() / kShort * (1 + minion.id.size() / kShort));
  return is_left && glob_match(glob.pattern, minion.id);
}

bool looks_into_pillar(const Step& step) {
  if (const auto* data = std::get_if<Data>(&step)) return data->of == &Minion::pillar;
  const auto* list = std::get_if<List>(&step);
  return list != nullptr && list->uses_pillar;
}

/// Evaluates a compiled target for one minion. An operand is `unknown` if it compares pillar data that the
/// caller may not read. Operators combine `yes`, `no` and `unknown` in three-valued logic.
class Evaluation {
 public:
  enum class Truth : unsigned char { no, unknown, yes };

  Evaluation(const Minion& minion, bool hides_pillar, Work& work)
      : minion_(minion), hides_pillar_(hides_pillar), work_(work) {}

  /// Returns `no` if the work is spent.
  Truth run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      if (!work_.spend(1)) return Truth::no;
      if (hides_pillar_ && looks_into_pillar(step)) {
        stack_.push_back(Truth::unknown);
      } else {
        std::visit(*this, step);
      }
    }
    return work_.is_spent() ? Truth::no : stack_.back();
  }

  void operator()(const Glob& glob) { push(match_id(glob, minion_, work_)); }
  void operator()(const Pcre& pcre) { push(match_regex(pcre.regex, minion_.id, work_)); }
  void operator()(const List& list) {
    push(std::binary_search(list.ids.begin(), list.ids.end(), minion_.id));
  }
  void operator()(const Data& data) { push(data.matcher.matches((minion_.*data.of).root(), work_)); }
  void operator()(const IpCidr& ipcidr) { push(has_address_in(minion_, ipcidr.network, work_)); }
  void operator()(Operator what) {
    const Truth right = stack_.back();
    if (what == Operator::negation) {
      stack_.back() = right == Truth::unknown ? right : right == Truth::yes ? Truth::no : Truth::yes;
      return;
    }
    stack_.pop_back();
    stack_.back() = what == Operator::both ? std::min(stack_.back(), right) : std::max(stack_.back(), right);
  }

 private:
  void push(bool matches) { stack_.push_back(matches ? Truth::yes : Truth::no); }

  const Minion& minion_;
  const bool hides_pillar_;
  Work& work_;
  std::vector<Truth> stack_;
};

}  // namespace
}  // namespace target

Result<TargetMatcher> TargetMatcher::compile(const lowstate::Target& target, const Nodegroups& nodegroups,
                                             target::Work& work) {
  if (target.type == lowstate::TargetType::compound) {
    Result<std::vector<target::Step>> steps = target::compile_compound(
        target.list.empty() ? split_words(target.expression) : target.list, nodegroups, work);
    if (!steps) return work.is_spent() ? target::Work::error() : std::move(steps).error();
    return TargetMatcher(*std::move(steps));
  }
  Result<target::Step> step = target::compile_operand(target, nodegroups, work);
  if (work.is_spent()) return target::Work::error();
  if (!step) {
    return Error{step.error().kind,
                 format("The target {}: {}.", quoted_excerpt(target.expression), step.error().message)};
  }
  std::vector<target::Step> steps;
  steps.push_back(*std::move(step));
  return TargetMatcher(std::move(steps));
}

lowstate::Target compound_target(std::string_view expression) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.expression = expression;
  return target;
}

bool TargetMatcher::matches(const Minion& minion, target::Work& work) const {
  // Most targets are a single glob, which is matched without an Evaluation.
  if (const auto* glob = std::get_if<target::Glob>(&steps_.front()); glob != nullptr && steps_.size() == 1) {
    return target::match_id(*glob, minion, work);
  }
  return target::Evaluation(minion, false, work).run(steps_) == target::Evaluation::Truth::yes;
}

bool TargetMatcher::looks_into_pillar() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [](const target::Step& step) { return target::looks_into_pillar(step); });
}

std::optional<bool> TargetMatcher::matches_without_pillar(const Minion& minion, target::Work& work) const {
  using Truth = target::Evaluation::Truth;
  const Truth truth = target::Evaluation(minion, true, work).run(steps_);
  if (truth == Truth::unknown) return std::nullopt;
  return truth == Truth::yes;
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

namespace {

/// The work to check whether a caller may read the pillar of a minion.
constexpr std::size_t kPillarCheck = 20;

Result<Selection> matching(const Minions& minions, const TargetMatcher& matcher, target::Work& work) {
  Selection selection;
  for (std::size_t i = 0; i < minions.all().size() && !work.is_spent(); ++i) {
    if (matcher.matches(minions.all()[i], work)) selection.positions.push_back(i);
  }
  if (work.is_spent()) return target::Work::error();
  return selection;
}

}  // namespace

Result<Selection> select(const Minions& minions, const lowstate::Target& target, target::Work& work) {
  if (target.type == lowstate::TargetType::list) {
    if (!work.spend(target.list.size())) return target::Work::error();
    return select_ids(minions, target.list);
  }
  Selection selection;
  if (target.type == lowstate::TargetType::glob && target.expression == "*") {
    selection.positions.resize(minions.all().size());
    std::iota(selection.positions.begin(), selection.positions.end(), std::size_t{0});
    return selection;
  }
  const Result<TargetMatcher> matcher = TargetMatcher::compile(target, minions.nodegroups(), work);
  return matcher ? matching(minions, *matcher, work) : matcher.error();
}

Result<Selection> select_visible(const Minions& minions, const lowstate::Target& target,
                                 const CanReadPillar& can_read_pillar, target::Work& work) {
  if (target.type == lowstate::TargetType::list || target.type == lowstate::TargetType::glob) {
    return select(minions, target, work);
  }
  const Result<TargetMatcher> matcher = TargetMatcher::compile(target, minions.nodegroups(), work);
  if (!matcher) return matcher.error();
  if (!matcher->looks_into_pillar()) return matching(minions, *matcher, work);
  Selection selection;
  bool can_read_any = false;
  bool has_decided = false;
  for (std::size_t i = 0; i < minions.all().size() && work.spend(kPillarCheck); ++i) {
    const bool can_read = can_read_pillar(i);
    const std::optional<bool> anyway = matcher->matches_without_pillar(minions.all()[i], work);
    can_read_any = can_read_any || can_read;
    has_decided = has_decided || (!anyway && can_read);
    selection.has_hidden = selection.has_hidden || (!anyway && !can_read);
    if (anyway.value_or(can_read && matcher->matches(minions.all()[i], work)))
      selection.positions.push_back(i);
  }
  if (work.is_spent()) return target::Work::error();
  if (can_read_any && (has_decided || !selection.has_hidden)) return selection;
  return Error{ErrorKind::authorization, "Authorization error occurred."};
}

CanReadPillar make_pillar_check(const Minions& minions, const RuleTargets& targets,
                                std::span<const std::string> functions, AllowsCall allows) {
  return [&minions, &targets, functions, allows = std::move(allows),
          everywhere = std::optional<bool>()](std::size_t position) mutable {
    const auto any = [&](const auth::TargetsWithin& within) {
      return std::any_of(functions.begin(), functions.end(), [&](const std::string& name) {
        return allows({name, {}}, within);
      });
    };
    if (!everywhere) everywhere = any([](std::string_view) { return false; });
    const Selection one{{position}, {}};
    return *everywhere || any([&](std::string_view scope) { return targets.match_all(scope, minions, one); });
  };
}

Result<RuleTargets> RuleTargets::make(const std::vector<auth::RuleTarget>& targets, const Minions& minions) {
  RuleTargets result;
  for (const auth::RuleTarget& target : targets) {
    if (result.matchers_.find(target.compound) != result.matchers_.end()) continue;
    auto matcher = TargetMatcher::compile(compound_target(target.compound), minions.nodegroups());
    if (!matcher) {
      const std::string place = target.where.empty() ? std::string() : format("{}: ", target.where);
      return Error{ErrorKind::configuration,
                   format("{}external_auth: {}: {}: the target '{}': {}", place, target.eauth,
                          target.principal, target.compound, matcher.error().message)};
    }
    result.matchers_.emplace(target.compound, *std::move(matcher));
  }
  return result;
}

std::vector<std::string> RuleTargets::minions_outside(std::string_view compound, const Minions& minions,
                                                      const Selection& selection) const {
  const TargetMatcher& matcher = matchers_.find(compound)->second;
  std::vector<std::string> ids;
  for (const std::size_t position : selection.positions) {
    const Minion& minion = minions.all()[position];
    if (!matcher.matches(minion)) ids.push_back(minion.id);
  }
  return ids;
}

namespace {

constexpr std::string_view kNodegroup = "N@";

/// Returns the target of a nodegroup, as Salt makes it. `text` keeps the words of an expression or a list.
lowstate::Target target_of(const std::vector<std::string>& words, std::string& text) {
  lowstate::Target target;
  target.type = lowstate::TargetType::compound;
  target.list.assign(words.begin(), words.end());
  const master::NodegroupForm form = master::form_of(words);
  if (form == master::NodegroupForm::compound) return target;
  text = joined(words, ",");
  target.expression = text;
  target.type = form == master::NodegroupForm::pcre ? lowstate::TargetType::pcre : lowstate::TargetType::list;
  target.list = split_names(text);
  return target;
}

Error wrong_nodegroup(std::string_view name, std::string_view what) {
  return wrong_setting(format("nodegroups: {}", name), what);
}

}  // namespace

/// A nodegroup inside another nodegroup is made before the outer nodegroup.
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
    if (group.words.empty()) return wrong_nodegroup(group.name, "found nothing, expected a compound target");
    if (!open_.insert(group.name).second) return wrong_nodegroup(group.name, "contains itself");
    if (Result<void> inner = add_inner(group); !inner) return inner;
    open_.erase(group.name);
    std::string text;
    const Result<TargetMatcher> matcher = TargetMatcher::compile(target_of(group.words, text), groups_);
    if (!matcher) return wrong_nodegroup(group.name, matcher.error().message);
    if (matcher->looks_into_pillar()) groups_.using_pillar_.insert(group.name);
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
      if (inner == options_.end()) return wrong_nodegroup(group.name, format("unknown nodegroup {}", name));
      if (Result<void> added = add(*inner); !added) return added;
    }
    return {};
  }

  const std::vector<master::NodegroupOptions>& options_;
  const std::vector<Minion>& minions_;
  // The names of the nodegroups that `add` has begun but not finished. If `add` begins such a nodegroup
  // again, the nodegroup contains itself.
  std::set<std::string_view> open_;
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
  std::vector<std::string_view> names;
  for (const auto& [name, members] : members_) names.push_back(name);
  return joined(names);
}

}  // namespace rest_fcgi::embedded
