// SPDX-License-Identifier: MIT
#include "master/recording/caches.h"

#include <atomic>
#include <future>
#include <stop_token>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::recording {

struct Caches::State {
  explicit State(std::unique_ptr<returner::Returners> given) : returners(std::move(given)) {}

  void note(std::string_view jid, const Result<void>& kept) {
    if (kept) {
      if (failing.exchange(false)) log::warning("ext_job_cache: jobs are kept again");
    } else if (!failing.exchange(true)) {
      log::error(
          format("ext_job_cache: job {} is not kept as it should be: {}; of those that follow the log "
                 "says no more",
                 jid, kept.error().message));
    }
  }

  void tell(std::string_view jid, const Call& call) {
    for (returner::Returner* const cache : returners->ext_job_caches()) note(jid, call(*cache));
  }

  const std::unique_ptr<returner::Returners> returners;
  std::atomic<std::size_t> bytes{0};  // that wait
  std::atomic<bool> failing{false};
};

Caches::Caches(std::unique_ptr<returner::Returners> returners, Limits limits)
    : state_(std::make_shared<State>(std::move(returners))),
      most_bytes_(limits.bytes),
      workers_({.threads = 1, .queued = limits.calls}) {}

void Caches::tell(std::string_view jid, const Call& call) {
  state_->tell(jid, call);
}

void Caches::tell_soon(std::string jid, std::size_t bytes, Call call) {
  auto room = workers_.reserve(1);
  if (!room || state_->bytes.fetch_add(bytes) + bytes > most_bytes_) {
    if (room) state_->bytes -= bytes;
    return state_->note(jid, Error{ErrorKind::unavailable, "too much waits to be kept"});
  }
  room->submit([state = state_, jid = std::move(jid), bytes, call = std::move(call)](const std::stop_token&) {
    state->tell(jid, call);
    state->bytes -= bytes;
  });
}

Result<void> Caches::flush(SteadyTime deadline) {
  auto room = workers_.reserve(1);
  if (!room) return std::move(room).error();
  const auto done = std::make_shared<std::promise<Result<void>>>();
  std::future<Result<void>> flushed = done->get_future();
  room->submit(
      [state = state_, done](const std::stop_token&) { done->set_value(state->returners->flush()); });
  if (flushed.wait_until(deadline) == std::future_status::ready) return flushed.get();
  return Error{ErrorKind::unavailable, "ext_job_cache: not all that waits could be kept in time"};
}

}  // namespace rest_fcgi::recording
