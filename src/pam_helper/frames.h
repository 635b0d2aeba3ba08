// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::pam_helper {

/// The body of the next frame, waited for; absent at the end of the stream, and for what is no frame.
[[nodiscard]] std::optional<WipedBytes> read_body(int fd);

/// Writes a whole frame; false where nobody reads it any more.
[[nodiscard]] bool write_frame(int fd, const WipedBytes& frame);

}  // namespace rest_fcgi::pam_helper
