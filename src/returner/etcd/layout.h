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

/// The keys and values of Salt's etcd returner.
namespace rest_fcgi::returner {

/// Keys below `etcd.returner_root`:
///
///     jobs/<jid>/.load.p             the load
///     jobs/<jid>/<minion>/<field>    one field of a return
///     minions/<minion>               the jid of its last return
///     claims/<jid>                   ours: a reserved jid without a load
///     listeners/<process>            ours, with a time to live: a process with a listener
///     events/<process>               ours, with a time to live: the last events of a process
///
/// Immutable.
class EtcdLayout {
 public:
  explicit EtcdLayout(const EtcdOptions& options);

  /// Folders, which end with a slash.
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

  /// Returns the stored value: a msgpack `str`, or the text alone.
  [[nodiscard]] std::string encoded(std::string_view text) const;

 private:
  std::string root_;
  bool msgpack_;
};

/// A minion's field, from a key without the job's folder; absent for another key.
struct EtcdField {
  std::string_view minion;
  std::string_view name;
};
[[nodiscard]] std::optional<EtcdField> field_in(std::string_view rest);

/// Returns whether the text may be one part of a key.
[[nodiscard]] bool is_key_part(std::string_view text);

/// Returns whether the name begins with 20 digits. Salt's `unique_jid` appends something to them.
[[nodiscard]] bool is_like_jid(std::string_view name);

/// Returns Salt's `_stamp`, in UTC: `2026-11-20T23:15:01.000001`. Stamps have the order of their times.
[[nodiscard]] std::string stamp_text(WallTime time);

/// Returns the text in a stored value of either form.
[[nodiscard]] std::string_view decoded(std::string_view stored);

// Loads and returns as JSON, before they are encoded. Salt writes some of them.

/// What a return repeats of its job, as JSON.
struct JobFacts {
  std::string fun;
  std::string arg;
};

/// Writes Salt's load, with `Minions` as Salt's own job cache has them, and `metadata` in `kwargs`.
[[nodiscard]] std::string load_text(const Load& load);

/// Reads a load, or a return that a Salt master wrote over it, with Salt's values for missing members. Absent
/// if `text` is not a JSON object.
[[nodiscard]] std::optional<Load> load_in(std::string_view jid, std::string_view text);

/// Writes a load for a job without one: `salt --return etcd` writes returns only, and a load may expire
/// before its returns. `fun` and `fun_args` are those of one return, as stored, or empty.
[[nodiscard]] std::string load_of_return(std::string_view jid, std::string_view fun,
                                         std::string_view fun_args, const std::vector<std::string>& minions);

/// Adds minions to a load, and changes nothing else. Absent if `text` is not a JSON object.
[[nodiscard]] std::optional<std::string> with_minions(std::string_view text,
                                                      const std::vector<std::string>& minions);

/// Returns the fields of a return in Salt's order, as JSON; without `_stamp` if `stamp` is empty.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> return_fields(std::string_view jid,
                                                                                  const JobReturn& ret,
                                                                                  const JobFacts& facts,
                                                                                  std::string_view stamp);

/// Reads one field of a return, unless its name is unknown. Returns whether it is the field `return`.
bool read_field(JobReturn& ret, std::string_view name, std::string_view text);

/// Reads a value as JSON; a value that is not JSON becomes a JSON string.
[[nodiscard]] Json json_in(std::string_view text);

}  // namespace rest_fcgi::returner
