// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

/// The time span in which the certificate of a port is valid.
struct CertificateTimes {
  std::string name;  ///< name of the port, from `HttpOptions::name`
  WallTime from;
  WallTime until;
};

/// Reads the certificates of all ports with TLS from their files. Errors: configuration, with the path of the
/// file that cannot be read.
[[nodiscard]] Result<std::vector<CertificateTimes>> certificate_times(const Options& options);

/// Checks the certificates of all ports with TLS. Errors: configuration, if a certificate is not valid at
/// `when` or cannot be read.
[[nodiscard]] Result<void> check_certificate_times(const Options& options, WallTime when);

}  // namespace rest_fcgi::gateway
