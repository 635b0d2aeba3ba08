// SPDX-License-Identifier: MIT
#include "certificates.h"

#include <vector>

#include "child.h"

namespace rest_fcgi::test {
namespace {

void make_pair(const std::string& directory, const std::string& name, const std::vector<std::string>& more) {
  const std::string base = directory + "/" + name;
  std::vector<std::string> argv{
      "openssl", "req",        "-x509", "-newkey", "ec",          "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes",  "-days",      "2",     "-subj",   "/CN=" + name, "-keyout",  base + ".key",
      "-out",    base + ".pem"};
  argv.insert(argv.end(), more.begin(), more.end());
  run_program(argv, directory + "/openssl.log");
}

}  // namespace

Certificates make_certificates(const std::string& directory) {
  const std::string at = directory + "/";
  make_pair(directory, "ca", {});
  make_pair(directory, "other_ca", {});
  const auto signed_pair = [&](const std::string& name, std::vector<std::string> more) {
    const std::vector<std::string> by{"-CA",         at + "ca.pem", "-CAkey",
                                      at + "ca.key", "-addext",     "basicConstraints=critical,CA:FALSE"};
    more.insert(more.begin(), by.begin(), by.end());
    make_pair(directory, name, more);
  };
  // The gateway inside etcd connects to its own server with the server certificate, so this certificate needs
  // `clientAuth` too.
  signed_pair("server", {"-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost", "-addext",
                         "extendedKeyUsage=serverAuth,clientAuth"});
  signed_pair("client", {"-addext", "extendedKeyUsage=clientAuth"});
  return {at + "ca.pem",     at + "server.pem", at + "server.key",
          at + "client.pem", at + "client.key", at + "other_ca.pem"};
}

}  // namespace rest_fcgi::test
