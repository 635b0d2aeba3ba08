// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "rest_fcgi/core/json.h"
#include "rest_fcgi/master/master.h"

namespace rest_fcgi::client {

/// A return's `retcode`: of a compound call a map by function, where the master knows it.
void write_retcode(JsonWriter& writer, const master::Return& ret);

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

}  // namespace rest_fcgi::client
