// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "etcd/endpoints.h"
#include "etcd/gateway_error.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/etcd/client.h"

namespace rest_fcgi::etcd {

/// What a call does to the store, which decides what may be tried again.
enum class Effect {
  none,        ///< it reads
  repeatable,  ///< twice is the same as once
  once,        ///< where it may have been carried out, the caller has to know
};

/// One try of a call at a member; nothing where it succeeded.
using Try = std::function<std::optional<Failure>(std::size_t member)>;

/// Tries at one member after the other, until one takes it, or it is worth no more, or time is up. Blocks.
[[nodiscard]] Result<void> retry(Endpoints& endpoints, Effect effect, Deadline deadline, const Try& attempt);

}  // namespace rest_fcgi::etcd
