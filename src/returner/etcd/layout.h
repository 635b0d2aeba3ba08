// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"

/// Where Salt's etcd returner keeps what, how a value is written there, and which JSON stands in it. Text in,
/// text out.
namespace rest_fcgi::returner {

/// Keys below `etcd.returner_root`:
///
///     jobs/<jid>/.load.p             the load
///     jobs/<jid>/<minion>/<field>    one field of a return
///     minions/<minion>               the jid of its last return
///     claims/<jid>                   ours: a process reserved the jid, and its load is not there
///     listeners/<process>            ours, for a time: listens to what all hosts do
///     events/<process>               ours, for a time: what it published last
///
/// Immutable.
class EtcdLayout {
 public:
  explicit EtcdLayout(const EtcdOptions& options);

  /// These end with a slash.
  [[nodiscard]] std::string all() const { return root_ + "/"; }
  [[nodiscard]] std::string listeners() const { return root_ + "/listeners/"; }
  [[nodiscard]] std::string events() const { return root_ + "/events/"; }
  [[nodiscard]] std::string jobs() const { return root_ + "/jobs/"; }
  [[nodiscard]] std::string minions() const { return root_ + "/minions/"; }
  [[nodiscard]] std::string job(std::string_view jid) const;

  [[nodiscard]] std::string load(std::string_view jid) const;
  [[nodiscard]] std::string field(std::string_view jid, std::string_view minion, std::string_view name) const;
  [[nodiscard]] std::string minion(std::string_view id) const { return minions().append(id); }
  [[nodiscard]] std::string claim(std::string_view jid) const;

  /// As it is stored: a msgpack `str`, or the text alone.
  [[nodiscard]] std::string encoded(std::string_view text) const;

 private:
  std::string root_;
  bool msgpack_;
};

/// A minion's field below a job's folder; absent where the rest of the key is something else.
struct EtcdField {
  std::string_view minion;
  std::string_view name;
};
[[nodiscard]] std::optional<EtcdField> field_in(std::string_view rest);

/// May it be one part of a key: a jid or a minion's id?
[[nodiscard]] bool is_key_part(std::string_view text);

/// Begins with a jid's 20 digits, as those of Salt's `unique_jid` do.
[[nodiscard]] bool is_like_jid(std::string_view name);

/// As Salt's `_stamp`, in UTC: `2026-11-20T23:15:01.000001`. Always of one length, so that they compare as
/// times do.
[[nodiscard]] std::string stamp_text(WallTime time);

/// The text in a stored value, of either form: a view of `stored`.
[[nodiscard]] std::string_view decoded(std::string_view stored);

// Loads and returns as JSON, before they are encoded. Salt and other programs write some of them, too.

/// What returns say of the job that they belong to. JSON texts.
struct JobFacts {
  std::string fun;
  std::string arg;
};

/// Salt's load, with `Minions` as Salt's own job cache shows them; `metadata` stands in `kwargs`.
[[nodiscard]] std::string load_text(const Load& load);

/// From a load, or from the return that a master wrote over it: what that does not tell is as Salt shows it
/// then. Absent where `text` is no JSON object.
[[nodiscard]] std::optional<Load> load_in(std::string_view jid, std::string_view text, UnicodeErrors errors);

/// A load for a job that has none: minions that return by themselves (`salt --return etcd`) write returns
/// alone, and a load may have expired before its returns. `fun` and `fun_args`: of one return, as stored;
/// empty: not known.
[[nodiscard]] std::string load_of_return(std::string_view jid, std::string_view fun,
                                         std::string_view fun_args, const std::vector<std::string>& minions);

/// `text` with these minions as well; absent where it is no JSON object. All else stays as it is.
[[nodiscard]] std::optional<std::string> with_minions(std::string_view text,
                                                      const std::vector<std::string>& minions);

/// The fields of a return, in Salt's order, and their JSON texts; without `_stamp` where `stamp` is empty.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> return_fields(std::string_view jid,
                                                                                  const JobReturn& ret,
                                                                                  const JobFacts& facts,
                                                                                  std::string_view stamp);

/// Takes one field of a return up, by its name; one that is not known is passed over. False where it is not
/// the one that makes a return.
bool read_field(JobReturn& ret, std::string_view name, std::string_view text, UnicodeErrors errors);

/// A value as JSON; as a JSON text of all of it, where it is none.
[[nodiscard]] Json json_in(std::string_view text, UnicodeErrors errors);

}  // namespace rest_fcgi::returner
