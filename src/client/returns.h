// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// Writes the map by minion that `local` gives. Borrows the job's id. Not synchronized.
class ReturnMap {
 public:
  ReturnMap(std::string_view jid, bool full_return);
  ReturnMap(const ReturnMap&) = delete;  // the writer looks at text_
  ReturnMap& operator=(const ReturnMap&) = delete;

  void add(const master::Return& ret);

  /// A minion of which nothing came, or which does not exist.
  void add_silent(std::string_view minion);

  /// Nothing was added so far.
  [[nodiscard]] bool empty() const noexcept { return text_.size() == 1; }

  /// The map. To be called once, at the end.
  [[nodiscard]] Json take();

 private:
  std::string text_;
  JsonWriter writer_;
  std::string_view jid_;
  bool full_return_;
};

/// `{"<minion>": <ret>}`, an item of `local_batch`.
[[nodiscard]] Json by_minion(std::string_view minion, const Json& ret);

/// The same as the event that Salt's bus carries, `{"data": {...}, "tag": "salt/job/<jid>/ret/<minion>"}`: an
/// item of `local_batch` with `raw`.
[[nodiscard]] Json return_event(const master::Return& ret, std::string_view jid,
                                const master::Permit& permit);

}  // namespace rest_fcgi::client
