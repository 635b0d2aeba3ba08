// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// When the certificate of a port begins and ceases to be valid.
struct CertificateTimes {
  std::string name;  ///< of the port's `HttpOptions`
  WallTime from;
  WallTime until;
};

/// Reads the certificates of all ports with TLS from their files. Errors: configuration, with the file.
[[nodiscard]] Result<std::vector<CertificateTimes>> certificate_times(const Options& options);

/// Errors: configuration, for a certificate that is not valid at that time or cannot be read.
[[nodiscard]] Result<void> check_certificate_times(const Options& options, WallTime when);

}  // namespace rest_fcgi::gateway
