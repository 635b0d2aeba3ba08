// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "master/embedded/minion.h"
#include "master/embedded/target/work.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/address.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace rest_fcgi::embedded {

namespace target {

/// The largest number of delimiters in an expression for grains or pillar. Regular expressions have a lower
/// limit.
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::size_t kMaxPcreLevels = 16;

/// Matches grains or pillar with an expression, as salt.utils.data.subdict_match does. `os:Deb*` has a
/// pattern for the value of `os`. `a:b:c` matches `c` below `a:b`, or `b:c` below `a`. One matching list
/// element or object key is enough, and `*:` stands for any key. Values are compared in lower case as Python
/// writes them. Borrows its texts. Immutable; thread-safe.
class DataMatcher {
 public:
  enum class How { glob, pcre, exact };

  /// Compiles an expression. Fails with `invocation` for too many levels, a wrong regular expression, or too
  /// much work.
  static Result<DataMatcher> compile(std::string_view expression, std::string_view delimiter, How how,
                                     Work& work);

  /// Returns whether `data` matches. The result is valid only if `work` is not spent.
  [[nodiscard]] bool matches(JsonValue data, Work& work) const;

 private:
  class Match;
  DataMatcher(std::string_view expression, std::string_view delimiter, How how)
      : expression_(expression), delimiter_(delimiter), how_(how) {}
  Result<void> compile_patterns(Work& work);

  std::string_view expression_;
  std::string_view delimiter_;
  How how_;
  // The key is the offset in the expression at which the pattern begins.
  std::map<std::size_t, Regex> patterns_;
};

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< `ids` are sorted.
  bool uses_pillar = false;           ///< `uses_pillar` says whether the choice of `ids` used pillar data.
};
struct Data {
  JsonDocument Minion::*of;  ///< The minion's grains or pillar.
  DataMatcher matcher;
};
struct IpCidr {
  IpNetwork network;
};
enum class Operator { negation, both, either };

/// A step of a compiled target in postfix order. An operand pushes a value that says whether the minion
/// matches. An operator replaces the last values by their combination.
using Step = std::variant<Glob, Pcre, List, Data, IpCidr, Operator>;

/// Compiles a regular expression. Fails with `invocation`.
Result<Regex> compile_regex(std::string_view pattern, Work& work);

/// Returns whether the regular expression matches the start of `text`. Stops `work` if the match takes too
/// long.
[[nodiscard]] bool match_regex(const Regex& regex, std::string_view text, Work& work);

/// Compiles a target of any type except `compound`. Fails with `invocation`. REQUIRES: `target.list` has the
/// ids if the target is a list.
Result<Step> compile_operand(const lowstate::Target& target, const Nodegroups& nodegroups, Work& work);

/// Compiles a compound target of Salt's grammar. Its words are `G@key:value` (grain), `P@` (grain_pcre), `I@`
/// (pillar), `J@` (pillar_pcre), `E@regex`, `L@id,id`, `S@network`, `N@nodegroup` and globs. The first four
/// can have their own delimiter, as in `G|@key|value`. `and`, `or`, `not` and brackets are separate words.
/// `not` binds closest, then `and`. Borrows the words. Fails with `invocation` and the number of the wrong
/// word.
Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                           const Nodegroups& nodegroups, Work& work);

}  // namespace target

/// Returns a target of type `compound`. The target borrows the expression.
[[nodiscard]] lowstate::Target compound_target(std::string_view expression);

/// A compiled target. Borrows the texts of the target. Immutable; thread-safe.
class TargetMatcher {
 public:
  /// Compiles a target. Fails with `invocation` for an unsupported type, a wrong expression, and too much
  /// work.
  static Result<TargetMatcher> compile(const lowstate::Target& target, const Nodegroups& nodegroups,
                                       target::Work& work);

  /// Compiles a target of the configuration.
  static Result<TargetMatcher> compile(const lowstate::Target& target, const Nodegroups& nodegroups) {
    target::Work work(std::numeric_limits<std::int64_t>::max());
    return compile(target, nodegroups, work);
  }

  /// Returns whether the target matches. Returns false if `work` is spent.
  [[nodiscard]] bool matches(const Minion& minion, target::Work& work) const;
  [[nodiscard]] bool matches(const Minion& minion) const {
    target::Work work;
    return matches(minion, work);
  }

  /// Returns whether the target compares pillar data, itself or in a nodegroup.
  [[nodiscard]] bool looks_into_pillar() const;

  /// Returns whether the target matches the minion, or std::nullopt if only pillar data can decide this.
  /// Returns false if `work` is spent.
  [[nodiscard]] std::optional<bool> matches_without_pillar(const Minion& minion, target::Work& work) const;

 private:
  explicit TargetMatcher(std::vector<target::Step> steps) : steps_(std::move(steps)) {}

  std::vector<target::Step> steps_;
};

struct Selection {
  std::vector<std::size_t> positions;  ///< `positions` are ascending, unique positions in `Minions::all()`.
  /// `missing` has the ids of a list target that no minion has, in the list's order, without duplicates.
  std::vector<std::string> missing;
  /// Whether `select_visible` left out a minion because the caller may not read its pillar.
  bool has_hidden = false;
};

/// Selects the minions that the target matches. Fails with the errors of `TargetMatcher::compile`.
Result<Selection> select(const Minions& minions, const lowstate::Target& target, target::Work& work);

/// Returns whether a caller may read the pillar of the minion at `position` in `Minions::all()`.
using CanReadPillar = std::function<bool(std::size_t position)>;

/// Selects the minions that the target matches, without revealing pillar data that the caller may not read.
/// Leaves out a minion if such data decides whether the minion matches. Fails with the errors of `select`.
/// Fails with `authorization` if the target compares pillar data and the caller may read no pillar. Also
/// fails with `authorization` if the caller may not read the pillar of any minion whose match depends on
/// pillar data.
Result<Selection> select_visible(const Minions& minions, const lowstate::Target& target,
                                 const CanReadPillar& can_read_pillar, target::Work& work);

/// Selects the minions whose ids are in `ids`. The result also has the ids that no minion has.
[[nodiscard]] Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids);

/// The compiled targets of all rules of `external_auth`. Immutable; thread-safe.
class RuleTargets {
 public:
  /// Compiles the targets. The result borrows `minions`, and the Permissions that own the texts of `targets`.
  /// Fails with `configuration` and the place of a wrong target in the configuration.
  static Result<RuleTargets> make(const std::vector<auth::RuleTarget>& targets, const Minions& minions);

  /// Returns whether `compound` matches all minions of `selection`. Returns false for an empty selection.
  /// REQUIRES: `compound` was given to `make`.
  [[nodiscard]] bool match_all(std::string_view compound, const Minions& minions,
                               const Selection& selection) const {
    return !selection.positions.empty() && minions_outside(compound, minions, selection).empty();
  }

  /// Returns the ids of the minions in `selection` that `compound` does not match. REQUIRES: `compound` was
  /// given to `make`.
  [[nodiscard]] std::vector<std::string> minions_outside(std::string_view compound, const Minions& minions,
                                                         const Selection& selection) const;

 private:
  std::map<std::string_view, TargetMatcher> matchers_;
};

/// A function that returns whether the rules of `external_auth` allow a call on a set of minions. The
/// function `within` returns whether the target of a rule matches the whole set.
using AllowsCall = std::function<bool(const auth::FunctionCall& call, const auth::TargetsWithin& within)>;

/// Makes the CanReadPillar for `select_visible`. `functions` are the functions that return pillar data. A
/// caller may read the pillar of a minion if a rule allows one of these functions on the minion. Borrows all
/// arguments except `allows`.
[[nodiscard]] CanReadPillar make_pillar_check(const Minions& minions, const RuleTargets& targets,
                                              std::span<const std::string> functions, AllowsCall allows);

}  // namespace rest_fcgi::embedded
