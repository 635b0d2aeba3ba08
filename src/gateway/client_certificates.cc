// SPDX-License-Identifier: MIT
#include "gateway/client_certificates.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <openssl/err.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "gateway/tls.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::gateway {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNoCertificate =
    "found no certificate, expected certificates in PEM form: one file, or a folder with files *.pem, *.crt "
    "or *.cer";

/// Returns whether `name` is the name of a certificate file. Such a name ends with `.pem`, `.crt` or `.cer`,
/// or is made by `openssl rehash`, such as `1a2b3c4d.0`.
bool is_certificate_name(std::string_view name) {
  if (name.starts_with('.')) return false;
  for (const std::string_view ending : {".pem", ".crt", ".cer"}) {
    if (name.ends_with(ending)) return true;
  }
  constexpr std::size_t kDigits = 8;
  return name.size() > kDigits && name[kDigits] == '.' && only_of(name.substr(0, kDigits), kHexDigits) &&
         only_digits(name.substr(kDigits + 1));
}

Result<std::vector<std::string>> files_of(const std::string& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return std::vector{path};
  std::vector<std::string> files;
  fs::directory_iterator entry(path, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    if (is_certificate_name(entry->path().filename().native())) files.push_back(entry->path());
  }
  if (failure) return Error{ErrorKind::configuration, failure.message(), {}};
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> load_ca_certificates(SSL_CTX& context, const HttpOptions& options) {
  const auto failure = [&options](std::string_view path, std::string_view why) {
    return wrong_setting(options.name + ": ssl_ca_certs", format("{}: {}", path, why));
  };
  const auto files = files_of(options.ssl_ca_certs);
  if (!files) return failure(options.ssl_ca_certs, files.error().message);
  for (const std::string& file : *files) {
    if (SSL_CTX_load_verify_file(&context, file.c_str()) != 1) return failure(file, openssl_text());
  }
  const STACK_OF(X509_OBJECT)* objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(&context));
  for (int i = 0; i < sk_X509_OBJECT_num(objects); ++i) {
    if (X509_OBJECT_get_type(sk_X509_OBJECT_value(objects, i)) == X509_LU_X509) return {};
  }
  return failure(options.ssl_ca_certs, kNoCertificate);
}

}  // namespace

Result<void> ask_for_client_certificates(SSL_CTX& context, const HttpOptions& options) {
  if (options.client_certificates == ClientCertificates::none) return {};
  const bool required = options.client_certificates == ClientCertificates::required;
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), nullptr);
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(&context, 0);
  return load_ca_certificates(context, options);
}

std::optional<std::string> common_name(const SSL& tls) {
  const X509* certificate = SSL_get0_peer_certificate(&tls);
  if (certificate == nullptr) return std::nullopt;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0) return std::nullopt;
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size < 0) return std::nullopt;
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

std::string certificate_refusal(const SSL& tls, unsigned long error) {
  if (const long result = SSL_get_verify_result(&tls); result != X509_V_OK)
    return X509_verify_cert_error_string(result);
  const bool is_missing = ERR_GET_REASON(error) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE;
  return is_missing ? "the client sent no certificate" : "";
}

}  // namespace rest_fcgi::gateway
