// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rest_fcgi/core/result.h"
#include "returner/record.h"
#include "returner/sqlite_store.h"

namespace rest_fcgi::returner {

/// Records that are written in one transaction: a load and those of its returns that came soon after it
/// become one row, and what is newest of each function and minion is written once. Borrows the records'
/// bytes. Not synchronized.
class Group {
 public:
  /// False where the bytes are no record.
  bool add(std::string_view record);

  /// Errors: those of the store.
  [[nodiscard]] Result<void> write(SqliteStore& store) const;

  [[nodiscard]] std::size_t loads() const noexcept { return loads_; }
  [[nodiscard]] std::size_t returns() const noexcept { return returns_; }

 private:
  struct NewJob {
    JidKey key = 0;
    LoadView load;
    std::vector<ReturnView> returns;  ///< of one minion, the last one counts
  };
  using Newest = std::map<std::pair<std::string_view, std::string_view>, JidKey>;

  [[nodiscard]] Result<void> write(SqliteStore& store, const NewJob& job, Newest& newest) const;
  [[nodiscard]] static Result<void> write(SqliteStore& store, const RecordView& other);

  std::vector<NewJob> jobs_;
  std::unordered_map<JidKey, std::size_t> by_key_;  // places in jobs_
  std::vector<RecordView> others_;                  // of jobs that are kept already, in order; what stands in
  std::size_t loads_ = 0;
  std::size_t returns_ = 0;
};

}  // namespace rest_fcgi::returner
