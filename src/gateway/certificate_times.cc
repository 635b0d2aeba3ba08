// SPDX-License-Identifier: MIT
#include <chrono>
#include <ctime>
#include <memory>
#include <utility>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/gateway/certificates.h"

namespace rest_fcgi::gateway {
namespace {

WallTime time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime(std::chrono::seconds(::timegm(&parts)));
}

Result<CertificateTimes> read_times(const HttpOptions& port) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(port.ssl_crt.c_str(), "r"), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      file ? PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr) : nullptr, X509_free);
  if (!certificate) {
    return Error{ErrorKind::configuration,
                 format("{}: ssl_crt: {}: found no readable certificate, expected one in PEM form", port.name,
                        port.ssl_crt)};
  }
  return CertificateTimes{port.name, time_of(X509_get0_notBefore(certificate.get())),
                          time_of(X509_get0_notAfter(certificate.get()))};
}

}  // namespace

Result<std::vector<CertificateTimes>> certificate_times(const Options& options) {
  std::vector<CertificateTimes> all;
  for (const HttpOptions& port : options.http) {
    if (port.ssl_crt.empty()) continue;
    auto times = read_times(port);
    if (!times) return std::move(times).error();
    all.push_back(*std::move(times));
  }
  return all;
}

Result<void> check_certificate_times(const Options& options, WallTime when) {
  const auto all = certificate_times(options);
  if (!all) return all.error();
  for (const CertificateTimes& one : *all) {
    if (when >= one.from && when < one.until) continue;
    return Error{ErrorKind::configuration, format("{}: ssl_crt: the certificate {}", one.name,
                                                  when < one.from ? "is not valid yet" : "has expired")};
  }
  return {};
}

}  // namespace rest_fcgi::gateway
