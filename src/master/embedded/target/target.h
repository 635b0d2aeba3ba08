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

/// Targets: how they are compiled, and which minions they match.
namespace rest_fcgi::embedded {

/// The parts of which a compiled target consists.
namespace target {

/// Largest number of delimiters in an expression for grains or pillar. The limit is lower for regular
/// expressions, because each delimiter needs a compiled pattern.
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::size_t kMaxPcreLevels = 16;

/// Largest amount of work to match a target with one minion. One comparison of two short texts is 1 unit.
/// Longer texts and regular expressions count more.
inline constexpr int kMaxWork = 100'000;

/// Matches grains or pillar data with an expression, as salt.utils.data.subdict_match does. The expression
/// `os:Deb*` has a pattern for the value of `os`. The expression `a:b:c` matches `c` below `a:b`, or `b:c`
/// below `a`. One matching element of a list, or one matching key of an object, is enough; `*:` stands for
/// any key. Values are compared in the form in which Python writes them, in lower case. A `\D` in a regular
/// expression therefore means `\d`. Borrows its texts. Immutable; thread-safe.
class DataMatcher {
 public:
  enum class How { glob, pcre, exact };

  /// Compiles an expression. Errors: invocation, for too many levels and for a wrong regular expression.
  [[nodiscard]] static Result<DataMatcher> compile(std::string_view expression, std::string_view delimiter,
                                                   How how);

  /// Returns whether the data matches. Subtracts the work from `work_left`. Returns false if no work is left.
  [[nodiscard]] bool matches(JsonValue data, int& work_left) const;

 private:
  class Match;
  DataMatcher(std::string_view expression, std::string_view delimiter, How how)
      : expression_(expression), delimiter_(delimiter), how_(how) {}
  Result<void> compile_patterns();

  std::string_view expression_;
  std::string_view delimiter_;
  How how_;
  // each suffix of the expression that is used as a pattern, by its offset
  std::map<std::size_t, Regex> patterns_;
};

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< sorted
  bool uses_pillar = false;  ///< true if the ids are those of a nodegroup that looks into pillar data
};
struct Data {
  JsonDocument Minion::*of;  ///< the minion's grains or pillar
  DataMatcher matcher;
};
struct IpCidr {
  IpNetwork network;
};
enum class Operator { negation, both, either };

/// A step of a target in postfix order. An operand pushes whether it matches the minion. An operator replaces
/// the last pushed values by their combination.
using Step = std::variant<Glob, Pcre, List, Data, IpCidr, Operator>;

/// Compiles a target of any type except `compound`. A list target has its ids in `target.list`. Errors:
/// invocation; the message is the end of a sentence.
[[nodiscard]] Result<Step> compile_operand(const lowstate::Target& target, const Nodegroups& nodegroups);

/// Splits the ids of a list at commas.
[[nodiscard]] std::vector<std::string_view> split_ids(std::string_view list);

/// Compiles a compound target of Salt's grammar. Its words are `G@key:value` (grain), `P@` (grain_pcre), `I@`
/// (pillar), `J@` (pillar_pcre), `E@regex`, `L@id,id`, `S@network`, `N@nodegroup` and globs. The first four
/// can have their own delimiter, such as `G|@key|value`. The words are joined by `and`, `or`, `not` and
/// brackets, which are separate words. `not` binds closest, then `and`, then `or`; `a not b` means `a and not
/// b`. Borrows the words. Errors: invocation, with the number of the wrong word.
[[nodiscard]] Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                                         const Nodegroups& nodegroups);

}  // namespace target

/// Returns a target of type `compound` for the expression. Borrows the expression.
[[nodiscard]] lowstate::Target compound_target(std::string_view expression);

/// A compiled target. Borrows the texts of the target. Immutable; thread-safe.
class TargetMatcher {
 public:
  /// Compiles a target. Errors: invocation, for a type that the engine does not support and for a wrong
  /// expression.
  [[nodiscard]] static Result<TargetMatcher> compile(const lowstate::Target& target,
                                                     const Nodegroups& nodegroups);

  [[nodiscard]] bool matches(const Minion& minion) const;

  /// Returns whether the target looks into pillar data, directly or through a nodegroup.
  [[nodiscard]] bool looks_into_pillar() const;

  /// Returns whether the target matches the minion for any pillar data. Returns nothing if the result depends
  /// on the minion's pillar.
  [[nodiscard]] std::optional<bool> matches_without_pillar(const Minion& minion) const;

 private:
  explicit TargetMatcher(std::vector<target::Step> steps) : steps_(std::move(steps)) {}

  std::vector<target::Step> steps_;
};

/// The minions that a target matches.
struct Selection {
  std::vector<std::size_t> positions;  ///< positions in `Minions::all()`, ascending, without duplicates
  /// the ids of a list target that no minion has, in the list's order, without duplicates
  std::vector<std::string> missing;
  /// true if select_visible left out a minion because the caller may not read its pillar
  bool has_hidden = false;
};

/// Selects the minions that the target matches. Errors: those of `TargetMatcher::compile`.
[[nodiscard]] Result<Selection> select(const Minions& minions, const lowstate::Target& target);

/// A check whether a caller may read the pillar of the minion at this position of `Minions::all()`.
using CanReadPillar = std::function<bool(std::size_t position)>;

/// Selects minions in such a way that the result does not reveal pillar data that the caller may not read. If
/// such pillar data decides whether a minion matches, the minion is left out. Errors: those of `select`; also
/// authorization, if the target looks into pillar and the caller may not read any pillar, or none of the
/// pillar that decides.
[[nodiscard]] Result<Selection> select_visible(const Minions& minions, const lowstate::Target& target,
                                               const CanReadPillar& can_read_pillar);

/// Returns the minions with these ids, and the ids that no minion has.
[[nodiscard]] Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids);

/// The compiled targets of all rules of `external_auth`. Immutable; thread-safe.
class RuleTargets {
 public:
  /// Compiles the targets. `minions` must outlive the result, and so must the Permissions from which
  /// `targets` come. Errors: configuration, for a wrong target; the message has the target's place in the
  /// configuration.
  [[nodiscard]] static Result<RuleTargets> make(const std::vector<auth::RuleTarget>& targets,
                                                const Minions& minions);

  /// Returns whether the target matches all selected minions. Returns false for an empty selection. REQUIRES:
  /// the target was given to `make`.
  [[nodiscard]] bool match_all(std::string_view compound, const Minions& minions,
                               const Selection& selection) const {
    return !selection.positions.empty() && minions_outside(compound, minions, selection).empty();
  }

  /// Returns the ids of the selected minions that the target does not match. REQUIRES: the target was given
  /// to `make`.
  [[nodiscard]] std::vector<std::string> minions_outside(std::string_view compound, const Minions& minions,
                                                         const Selection& selection) const;

 private:
  std::map<std::string_view, TargetMatcher> matchers_;
};

/// A check whether a rule allows a caller to call a function. `within` tells which targets contain the
/// minions.
using AllowsCall = std::function<bool(const auth::FunctionCall& call, const auth::TargetsWithin& within)>;

/// Returns the check that `select_visible` needs. A caller may read the pillar of those minions on which a
/// rule allows at least one of `functions`. Borrows all arguments except `allows`.
[[nodiscard]] CanReadPillar make_pillar_check(const Minions& minions, const RuleTargets& targets,
                                              std::span<const std::string> functions, AllowsCall allows);

}  // namespace rest_fcgi::embedded
