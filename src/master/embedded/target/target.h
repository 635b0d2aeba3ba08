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

/// Which minions a target means.
namespace rest_fcgi::embedded {

/// What a compiled target is made of.
namespace target {

/// How many delimiters an expression may have, and how many one with regular expressions, where a pattern is
/// compiled for each.
inline constexpr std::size_t kMaxLevels = 64;
inline constexpr std::size_t kMaxPcreLevels = 16;

/// How much work it may be to hold one minion's data against a target, all words of a compound one together.
/// To compare two short texts is 1; longer texts are more, and regular expressions.
inline constexpr int kMaxWork = 100'000;

/// Asks whether grains or pillar data have what an expression says, by Salt's rules
/// (salt.utils.data.subdict_match): `os:Deb*` is a pattern for the value of `os`; `a:b:c` is `c` below `a:b`,
/// or `b:c` below `a`; of a list any element will do; of an object a key will do as well; `*:` stands for any
/// key. Values are compared as Python writes them and without regard to case, which for a regular expression
/// means that `\D` is read as `\d`. Work is bounded, so that no expression can hold a thread: what exceeds
/// the bound does not match. Borrows its texts. Immutable; thread-safe.
class DataMatcher {
 public:
  enum class How { glob, pcre, exact };

  /// Errors: invocation, for too many levels, and for a regular expression that is none.
  [[nodiscard]] static Result<DataMatcher> compile(std::string_view expression, std::string_view delimiter,
                                                   How how);

  /// Takes what it does from `work_left`. Where nothing is left, it does not match.
  [[nodiscard]] bool matches(JsonValue data, int& work_left) const;

 private:
  class Match;
  DataMatcher(std::string_view expression, std::string_view delimiter, How how)
      : expression_(expression), delimiter_(delimiter), how_(how) {}
  Result<void> compile_patterns();
  [[nodiscard]] const Regex* pattern_at(std::size_t offset) const;

  std::string_view expression_;
  std::string_view delimiter_;
  How how_;
  // The end of the expression from an offset on, as a pattern; those that are no regular expression are left
  // out and match nothing.
  std::vector<std::pair<std::size_t, Regex>> patterns_;
};

struct Glob {
  std::string_view pattern;
};
struct Pcre {
  Regex regex;
};
struct List {
  std::vector<std::string_view> ids;  ///< sorted
  bool by_pillar = false;             ///< of a nodegroup whose words look into pillar
};
struct Data {
  JsonDocument Minion::*of;  ///< grains or pillar
  DataMatcher matcher;
};
struct IpCidr {
  IpNetwork network;  ///< of one address where that is asked for
};
enum class Operator { negation, both, either };

/// Operands push whether they match; operators work on what was pushed before them (postfix order, which has
/// no brackets and needs no recursion).
using Step = std::variant<Glob, Pcre, List, Data, IpCidr, Operator>;

/// Compiles a target of any type but `compound`, which may also be a word of a compound one; a list's ids
/// stand in `target.list`. Errors: invocation, in words that go into a sentence.
[[nodiscard]] Result<Step> compile_operand(const lowstate::Target& target, const Nodegroups& nodegroups);

/// The ids of a list: what stands between commas.
[[nodiscard]] std::vector<std::string_view> split_ids(std::string_view list);

/// Same for names, without blanks around them.
[[nodiscard]] std::vector<std::string_view> split_names(std::string_view list);

/// Compiles a compound target, Salt's grammar: words `G@key:value` (grain), `P@` (grain_pcre), `I@` (pillar),
/// `J@` (pillar_pcre), each also with a delimiter of its own such as `G|@key|value`, `E@regex`, `L@id,id`,
/// `S@network`, `N@nodegroup` and plain globs, joined by `and`, `or`, `not` and brackets, each a word of its
/// own. `not` binds closest, then `and`, then `or`; `a not b` is `a and not b`. The steps borrow the words.
/// Errors: invocation, naming the word by its number, from 1.
[[nodiscard]] Result<std::vector<Step>> compile_compound(const std::vector<std::string_view>& words,
                                                         const Nodegroups& nodegroups);

}  // namespace target

/// The target that a compound expression says, such as the rules of `external_auth` hold. Borrows it.
[[nodiscard]] lowstate::Target compound_target(std::string_view expression);

/// A target, ready to be asked about minions. Borrows the texts that it was compiled from. Immutable;
/// thread-safe.
class TargetMatcher {
 public:
  /// Errors: invocation, for a type that the engine does not have, and for an expression that is none, saying
  /// where.
  [[nodiscard]] static Result<TargetMatcher> compile(const lowstate::Target& target,
                                                     const Nodegroups& nodegroups);

  [[nodiscard]] bool matches(const Minion& minion) const;

  /// Returns whether the target names pillar data anywhere, by a nodegroup too.
  [[nodiscard]] bool looks_into_pillar() const;

  /// Returns whether the target matches a minion with any pillar; absent where its pillar decides.
  [[nodiscard]] std::optional<bool> matches_without_pillar(const Minion& minion) const;

 private:
  explicit TargetMatcher(std::vector<target::Step> steps) : steps_(std::move(steps)) {}

  std::vector<target::Step> steps_;
};

/// The minions that a target means.
struct Selection {
  std::vector<std::size_t> positions;  ///< in `Minions::all()`, ascending, each once
  std::vector<std::string> missing;    ///< ids of a list that no minion has, in its order, each once
  bool has_hidden = false;             ///< of `select_visible`: a minion was left out whose pillar is hidden
};

/// Errors: as TargetMatcher::compile.
[[nodiscard]] Result<Selection> select(const Minions& minions, const lowstate::Target& target);

/// Returns whether a caller may look into the pillar of the minion at this position of `Minions::all()`.
using SeesPillar = std::function<bool(std::size_t position)>;

/// The same for a caller who may look into the pillar of some minions alone. A minion is left out where its
/// pillar decides and the caller may not look into it, so that what comes of a target tells nothing of that
/// pillar. Errors: as `select`; authorization, where the target looks into pillar and the caller may look
/// into no pillar that decides, or into none at all.
[[nodiscard]] Result<Selection> select_visible(const Minions& minions, const lowstate::Target& target,
                                               const SeesPillar& sees_pillar);

/// Judges whether a caller may run a function on minions that `within` knows.
using Allows = std::function<bool(const auth::FunctionCall& call, const auth::TargetsWithin& within)>;

class RuleTargets;

/// Returns a judge for `select_visible`: a caller may look into the pillar of each minion on which a rule
/// allows one of the functions. Borrows all but `allows`.
[[nodiscard]] SeesPillar pillar_view(const Minions& minions, const RuleTargets& targets,
                                     std::span<const std::string> functions, Allows allows);

/// Those of `minions` that `ids` names, without what is missing.
[[nodiscard]] Selection select_ids(const Minions& minions, const std::vector<std::string_view>& ids);

/// The targets of `external_auth`, compiled. Immutable; thread-safe.
class RuleTargets {
 public:
  /// `minions`, and the Permissions that `targets` come from, have to outlive it. Errors: configuration, for
  /// a text that is no target, with its place.
  [[nodiscard]] static Result<RuleTargets> make(const std::vector<auth::RuleTarget>& targets,
                                                const Minions& minions);

  /// Does the target hold every one of the selected minions? Not where none is selected.
  /// REQUIRES: it was among those that this was made of.
  [[nodiscard]] bool hold(std::string_view compound, const Minions& minions,
                          const Selection& selection) const {
    return !selection.positions.empty() && outside(compound, minions, selection).empty();
  }

  /// The ids of those that it does not hold. REQUIRES: as `hold`.
  [[nodiscard]] std::vector<std::string> outside(std::string_view compound, const Minions& minions,
                                                 const Selection& selection) const;

 private:
  std::map<std::string_view, TargetMatcher> matchers_;
};

}  // namespace rest_fcgi::embedded
