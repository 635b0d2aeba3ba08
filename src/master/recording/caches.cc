// SPDX-License-Identifier: MIT
#include "master/recording/caches.h"

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::recording {

void Caches::to_each(std::string_view jid, const Call& call) {
  for (returner::Returner* const cache : returners_->ext_job_caches()) {
    const Result<void> kept = call(*cache);
    if (kept) {
      if (failing_.exchange(false)) log::info("ext_job_cache: jobs are kept again");
    } else if (!failing_.exchange(true)) {
      log::error(format("ext_job_cache: job {} is not kept as it should be: {}", jid, kept.error().message));
    }
  }
}

}  // namespace rest_fcgi::recording
