// SPDX-License-Identifier: MIT
#include "returner/trouble.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::returner {

void Trouble::begin(const Error& cause) {
  const std::lock_guard lock(mutex_);
  if (now_) return;
  now_ = true;
  log::error(format("{} cannot be written: {}. Jobs wait in its spool.", where_, cause.message));
}

void Trouble::end() {
  const std::lock_guard lock(mutex_);
  if (!now_ && !losing_) return;
  log::warning(
      format("{} is written again; {}", where_, losing_ ? losses() : std::string("nothing was lost")));
  now_ = false;
  losing_ = false;
  loads_ = 0;
  returns_ = 0;
}

bool Trouble::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void Trouble::lose(const std::optional<RecordView>& record) {
  const std::lock_guard lock(mutex_);
  if (record && record->kind == RecordView::Kind::load) {
    ++loads_;
  } else {
    ++returns_;
  }
  if (losing_) return;
  losing_ = true;
  log::error(format("{} takes no more, and its spool is full: jobs are lost from now on", where_));
}

Error Trouble::error(const Error& cause) const {
  const std::lock_guard lock(mutex_);
  std::string message = format("The job cache {} cannot be used now: {}.", cache_, cause.message);
  if (losing_) message += format(" Missing: {}.", losses());
  return {ErrorKind::unavailable, std::move(message)};
}

std::string Trouble::losses() const {
  return format("{} jobs and {} returns were lost", loads_, returns_);
}

}  // namespace rest_fcgi::returner
