// SPDX-License-Identifier: MIT
#include "returner/group.h"

#include <algorithm>

namespace rest_fcgi::returner {

bool Group::add(std::string_view record) {
  const std::optional<RecordView> view = view_of(record);
  if (!view) return false;
  const auto found = by_key_.find(view->key);
  switch (view->kind) {
    case RecordView::Kind::load:
      ++loads_;
      if (found == by_key_.end()) {
        by_key_.emplace(view->key, jobs_.size());
        jobs_.push_back({view->key, view->load, {}});
      } else {
        jobs_[found->second].load = view->load;
      }
      break;
    case RecordView::Kind::ret:
      ++returns_;
      if (found == by_key_.end()) {
        others_.push_back(*view);
      } else {
        jobs_[found->second].returns.push_back(view->ret);
      }
      break;
    case RecordView::Kind::stand_in:
      ++returns_;
      others_.push_back(*view);
      break;
    case RecordView::Kind::minions:
      others_.push_back(*view);
      break;
  }
  return true;
}

Result<void> Group::write(SqliteStore& store) const {
  Newest newest;
  for (const NewJob& job : jobs_) {
    if (Result<void> written = write(store, job, newest); !written) return written;
  }
  for (const auto& [name, key] : newest) {
    if (Result<void> saved = store.save_newest(name.first, name.second, key); !saved) return saved;
  }
  for (const RecordView& other : others_) {
    if (Result<void> saved = write(store, other); !saved) return saved;
  }
  return {};
}

Result<void> Group::write(SqliteStore& store, const RecordView& other) {
  switch (other.kind) {
    case RecordView::Kind::ret:
      return store.save_late_return(other.key, other.ret);
    case RecordView::Kind::stand_in:
      return store.save_stand_in(other.key, other.ret);
    default:
      return store.add_minions(other.key, other.minions);
  }
}

Result<void> Group::write(SqliteStore& store, const NewJob& job, Newest& newest) const {
  std::string returns;
  for (const ReturnView& ret : job.returns) returns += ret.packed;
  const Result<bool> inserted = store.insert_load(job.key, job.load, returns);
  if (!inserted) return inserted.error();
  if (*inserted) {
    for (const ReturnView& ret : job.returns) {
      JidKey& known = newest.try_emplace({job.load.fun, ret.minion}, job.key).first->second;
      known = std::max(known, job.key);
    }
    return {};
  }
  if (Result<void> replaced = store.replace_load(job.key, job.load); !replaced) return replaced;
  for (const ReturnView& ret : job.returns) {
    if (Result<void> saved = store.save_late_return(job.key, ret); !saved) return saved;
  }
  return {};
}

}  // namespace rest_fcgi::returner
