// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/systemctl.h"

/// The functions of the module `service`.
namespace rest_fcgi::embedded::service_module {

// What changes a unit.
[[nodiscard]] Reply start(const Call& call);
[[nodiscard]] Reply stop(const Call& call);
[[nodiscard]] Reply restart(const Call& call);
[[nodiscard]] Reply reload(const Call& call);
[[nodiscard]] Reply force_reload(const Call& call);
[[nodiscard]] Reply enable(const Call& call);
[[nodiscard]] Reply disable(const Call& call);
[[nodiscard]] Reply mask(const Call& call);
[[nodiscard]] Reply unmask(const Call& call);
[[nodiscard]] Reply systemctl_reload(const Call& call);

// What tells about units.
[[nodiscard]] Reply get_all(const Call& call);
[[nodiscard]] Reply get_enabled(const Call& call);
[[nodiscard]] Reply get_disabled(const Call& call);
[[nodiscard]] Reply get_static(const Call& call);
[[nodiscard]] Reply get_running(const Call& call);
[[nodiscard]] Reply available(const Call& call);
[[nodiscard]] Reply missing(const Call& call);
[[nodiscard]] Reply status(const Call& call);
[[nodiscard]] Reply enabled(const Call& call);
[[nodiscard]] Reply disabled(const Call& call);
[[nodiscard]] Reply masked(const Call& call);
[[nodiscard]] Reply show(const Call& call);

}  // namespace rest_fcgi::embedded::service_module
