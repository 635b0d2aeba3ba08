// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>

#include "master/salt/packed/packer.h"
#include "rest_fcgi/auth/credentials.h"
#include "rest_fcgi/core/secret.h"

/// What all loads have in common.
namespace rest_fcgi::salt {

/// A whole message, `{"enc": "clear", "load": ..., "version": 3}`. Masters refuse lower versions, and lose a
/// worker to one that is no integer. `pack_load` appends one map.
[[nodiscard]] WipedBytes envelope(const std::function<void(Packer&)>& pack_load);

/// How many fields `pack_credentials` appends.
[[nodiscard]] std::size_t credential_fields(const auth::Credentials& credentials);

/// `token`, which alone is enough; or `eauth`, `username` and `password`; or nothing.
void pack_credentials(Packer& packer, const auth::Credentials& credentials);

}  // namespace rest_fcgi::salt
