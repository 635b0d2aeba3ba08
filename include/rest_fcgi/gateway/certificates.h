// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/gateway/options.h"

namespace rest_fcgi::gateway {

struct CertificateTimes {
  std::string name;
  WallTime from;
  WallTime until;
};

/// Reads the certificates of all ports with TLS. Errors: configuration, with the path of the unreadable file.
Result<std::vector<CertificateTimes>> certificate_times(const Options& options);

/// Checks the certificates of all ports. Errors: configuration, if a certificate is unreadable or not valid.
Result<void> check_certificate_times(const Options& options, WallTime when);

}  // namespace rest_fcgi::gateway
