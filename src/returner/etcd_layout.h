// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/returner/options.h"

/// Where Salt's etcd returner keeps what, and how a value is written there. Text in, text out.
namespace rest_fcgi::returner {

/// Keys below `etcd.returner_root`:
///
///     jobs/<jid>/.load.p             the load
///     jobs/<jid>/<minion>/<field>    one field of a return
///     minions/<minion>               the jid of its last return
///     claims/<jid>                   ours: who took a jid, before its load is there
///
/// Immutable.
class EtcdLayout {
 public:
  explicit EtcdLayout(const EtcdOptions& options);

  /// These end with a slash.
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

}  // namespace rest_fcgi::returner
