// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"

/// The keys and values of Salt's etcd returner.
namespace rest_fcgi::returner {

/// Keys below `etcd.returner_root`:
///
///     jobs/<jid>/.load.p             the load
///     jobs/<jid>/<minion>/<field>    one field of a return
///     minions/<minion>               the jid of the minion's last return
///     claims/<jid>                   a reserved jid without a load
///     listeners/<process>            exists while a process has a listener; has a time to live
///     events/<process>               the last events of a process; has a time to live
///
/// Salt does not use claims, listeners and events. Immutable.
class EtcdLayout {
 public:
  explicit EtcdLayout(const EtcdOptions& options);

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

  /// Returns the text as a msgpack `str` if the options say so, otherwise unchanged.
  [[nodiscard]] std::string encoded(std::string_view text) const;

 private:
  std::string root_;
  bool msgpack_;
};

/// The key of a return's field is `<minion>/<field>` below the job's folder. `field_in` reads this part of
/// the key, and returns std::nullopt for any other text.
struct EtcdField {
  std::string_view minion;
  std::string_view name;
};
[[nodiscard]] std::optional<EtcdField> field_in(std::string_view rest);

/// Returns whether the text can be one part of a key, for example a minion id.
[[nodiscard]] bool is_key_part(std::string_view text);

/// Returns whether the name begins with 20 digits. Salt's `unique_jid` appends a suffix to these digits.
[[nodiscard]] bool is_like_jid(std::string_view name);

/// Returns the text in a value from etcd. The value is a msgpack `str` or the text itself.
[[nodiscard]] std::string_view decoded(std::string_view stored);

// The functions below read and write the JSON of loads and returns. Their input is the result of `decoded`,
// and may come from Salt.

struct JobFacts {
  std::string fun;
  std::string arg;
};

/// Returns a job's load as JSON in Salt's form. Adds the list `Minions`, as Salt's local job cache does, and
/// puts `metadata` into `kwargs`.
[[nodiscard]] std::string load_text(const Load& load);

/// Reads a job's load. Also reads a minion's return, because a Salt master may write a return to the key of
/// the load. Missing members get Salt's defaults. Returns std::nullopt if `text` is no JSON object.
[[nodiscard]] std::optional<Load> load_in(std::string_view jid, std::string_view text);

/// Makes a load for a job that has returns in etcd but no load. `salt --return etcd` leaves such jobs. `fun`
/// and `fun_args` are decoded fields of one return and may be empty.
[[nodiscard]] std::string load_of_return(std::string_view jid, std::string_view fun,
                                         std::string_view fun_args, const std::vector<std::string>& minions);

/// Returns the load in `text` with additional minions. Returns std::nullopt if `text` is not a JSON object.
[[nodiscard]] std::optional<std::string> with_minions(std::string_view text,
                                                      const std::vector<std::string>& minions);

/// Returns the names and the JSON values of a return's fields, in Salt's order. Leaves out `_stamp` if
/// `stamp` is empty.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> return_fields(std::string_view jid,
                                                                                  const JobReturn& ret,
                                                                                  const JobFacts& facts,
                                                                                  std::string_view stamp);

/// Reads one field of a return into `ret`. Ignores a field with an unknown name. Returns whether the field's
/// name is `return`.
bool read_field(JobReturn& ret, std::string_view name, std::string_view text);

/// Returns `text` as a JSON value. If `text` is not JSON, returns a JSON string with this text.
[[nodiscard]] Json json_in(std::string_view text);

}  // namespace rest_fcgi::returner
