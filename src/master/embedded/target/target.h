// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "master/embedded/host/ip_address.h"
#include "master/embedded/minion.h"
#include "rest_fcgi/auth/permissions.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/pattern.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/lowstate/lowstate.h"

/// Which minions a target matches.
namespace rest_fcgi::embedded {

/// The parts of a compiled target.
namespace target {

/// Largest number of delimiters in an expression. A pattern is compiled for each in one with regular
/// expressions.
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::size_t kMaxPcreLevels = 16;

/// Largest amount of work to match a target with one minion. A comparison of two short texts is 1; longer
/// texts and regular expressions are more.
inline constexpr int kMaxWork = 100'000;

/// Matches grains or pillar data with an expression, as salt.utils.data.subdict_match: `os:Deb*` is a pattern
/// for the value of `os`; `a:b:c` is `c` below `a:b`, or `b:c` below `a`. One element of a list, or one key
/// of an object, is enough; `*:` stands for any key. Values are compared as Python writes them and without
/// regard to case, so that `\D` in a regular expression is read as `\d`. Borrows its texts. Immutable;
/// thread-safe.
class DataMatcher {
 public:
  enum class How { glob, pcre, exact };

  /// Errors: invocation, for too many levels and for a wrong regular expression.
  [[nodiscard]] static Result<DataMatcher> compile(std::string_view expression, std::string_view delimiter,
                                                   How how);

  /// Subtracts the work from `work_left`. Returns false when nothing is left.
  [[nodiscard]] bool matches(JsonValue data, int& work_left) const;

 private:
  class Match;
  DataMatcher(std::string_view expression, std::string_view delimiter, How how)
      : expression_(expression), delimiter_(delimiter), how_(how) {}
  Result<void> compile_patterns();

  std::string_view expression_;
  std::string_view delimiter_;
  How how_;
  std::map<std::size_t, Regex> patterns_;  // the rest of the expression as a pattern, by its offset
};

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< sorted
  bool uses_pillar = false;           ///< the ids are those of a nodegroup that looks into pillar
};
struct Data {
  JsonDocument Minion::*of;  ///< grains or pillar
  DataMatcher matcher;
};
struct IpCidr {
  IpNetwork network;
};
enum class Operator { negation, both, either };

/// A step of a target in postfix order: an operand pushes whether it matches, an operator combines what was
/// pushed before.
using Step = std::variant<Glob, Pcre, List, Data, IpCidr, Operator>;

/// Compiles a target of any type but `compound`. The ids of a list are in `target.list`. Errors: invocation,
/// as the end of a sentence.
[[nodiscard]] Result<Step> compile_operand(const lowstate::Target& target, const Nodegroups& nodegroups);

/// Splits the ids of a list at commas.
[[nodiscard]] std::vector<std::string_view> split_ids(std::string_view list);

/// Compiles a compound target of Salt's grammar: words `G@key:value` (grain), `P@` (grain_pcre), `I@`
/// (pillar), `J@` (pillar_pcre), each also with its own delimiter such as `G|@key|value`, `E@regex`,
/// `L@id,id`, `S@network`, `N@nodegroup` and globs, joined by `and`, `or`, `not` and brackets, which are
/// words of their own. `not` binds closest, then `and`, then `or`; `a not b` is `a and not b`. Borrows the
/// words. Errors: invocation, with the number of the word.
[[nodiscard]] Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                                         const Nodegroups& nodegroups);

}  // namespace target

/// Returns the target of a compound expression. Borrows it.
[[nodiscard]] lowstate::Target compound_target(std::string_view expression);

/// A compiled target. Borrows the texts of the target. Immutable; thread-safe.
class TargetMatcher {
 public:
  /// Errors: invocation, for a type that the engine does not support and for a wrong expression.
  [[nodiscard]] static Result<TargetMatcher> compile(const lowstate::Target& target,
                                                     const Nodegroups& nodegroups);

  [[nodiscard]] bool matches(const Minion& minion) const;

  /// Returns whether the target looks into pillar data, itself or by a nodegroup.
  [[nodiscard]] bool looks_into_pillar() const;

  /// Returns whether the target matches a minion, whatever its pillar is; absent if its pillar decides.
  [[nodiscard]] std::optional<bool> matches_without_pillar(const Minion& minion) const;

 private:
  explicit TargetMatcher(std::vector<target::Step> steps) : steps_(std::move(steps)) {}

  std::vector<target::Step> steps_;
};

/// The minions that a target matches.
struct Selection {
  std::vector<std::size_t> positions;  ///< in `Minions::all()`, ascending, without duplicates
  std::vector<std::string> missing;    ///< ids of a list that no minion has, in its order, without duplicates
  bool has_hidden = false;  ///< select_visible left out a minion whose pillar the caller may not read
};

/// Errors: as TargetMatcher::compile.
[[nodiscard]] Result<Selection> select(const Minions& minions, const lowstate::Target& target);

/// Returns whether a caller may read the pillar of the minion at this position of `Minions::all()`.
using CanReadPillar = std::function<bool(std::size_t position)>;

/// Selects minions so that the result tells nothing about pillar that the caller may not read: a minion is
/// left out if such pillar decides whether it matches. Errors: as `select`; authorization, if the target
/// looks into pillar and the caller may read none, or none that decides.
[[nodiscard]] Result<Selection> select_visible(const Minions& minions, const lowstate::Target& target,
                                               const CanReadPillar& can_read_pillar);

/// Returns the minions of these ids, and the ids that no minion has.
[[nodiscard]] Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids);

/// The targets of the rules of `external_auth`, compiled. Immutable; thread-safe.
class RuleTargets {
 public:
  /// `minions` and the Permissions that `targets` come from have to outlive the result. Errors:
  /// configuration, for a wrong target, with its place.
  [[nodiscard]] static Result<RuleTargets> make(const std::vector<auth::RuleTarget>& targets,
                                                const Minions& minions);

  /// Returns whether the target matches all selected minions, and there is one at least. REQUIRES: the target
  /// is one of those that this was made of.
  [[nodiscard]] bool match_all(std::string_view compound, const Minions& minions,
                               const Selection& selection) const {
    return !selection.positions.empty() && minions_outside(compound, minions, selection).empty();
  }

  /// Returns the ids of the selected minions that the target does not match. REQUIRES: as `match_all`.
  [[nodiscard]] std::vector<std::string> minions_outside(std::string_view compound, const Minions& minions,
                                                         const Selection& selection) const;

 private:
  std::map<std::string_view, TargetMatcher> matchers_;
};

/// Returns whether a rule allows a caller a function, for minions that `within` describes.
using AllowsCall = std::function<bool(const auth::FunctionCall& call, const auth::TargetsWithin& within)>;

/// Returns a check for `select_visible`: a caller may read the pillar of the minions on which a rule allows
/// one of the functions. Borrows all but `allows`.
[[nodiscard]] CanReadPillar make_pillar_check(const Minions& minions, const RuleTargets& targets,
                                              std::span<const std::string> functions, AllowsCall allows);

}  // namespace rest_fcgi::embedded
