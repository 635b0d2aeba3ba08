// SPDX-License-Identifier: MIT
#include "auth/file_eauth.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "auth/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kMaxFileSize = std::size_t{16} << 20;

struct StoredPassword {
  std::string_view text;
  bool known = false;
};

/// What is stored for a user: their first entry. For an unknown user it is what the file's first entry
/// stores, so that a hash of the same kind and cost is computed. Always looks at all lines. Borrows from
/// `file`.
StoredPassword find_user(std::string_view file, const FieldLayout& layout, std::string_view username) {
  StoredPassword found;
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size() - 1);
    const auto entry = layout.read(file.substr(0, end + 1));
    file.remove_prefix(end + 1);
    if (!entry || found.known) continue;
    if (entry->username == username) {
      found = {entry->stored, true};
    } else if (found.text.empty()) {
      found.text = entry->stored;
    }
  }
  return found;
}

Result<std::unique_ptr<PasswordHash>> hash_for(const FileSettings& settings) {
  switch (settings.type) {
    case FileSettings::Type::htpasswd:
      return make_htpasswd_hash();
    case FileSettings::Type::htdigest:
      return make_htdigest_hash(settings.layout.realm);
    case FileSettings::Type::text:
      break;
  }
  return make_password_hash(settings.hashtype);
}

}  // namespace

FileEauth::FileEauth(std::string filename, FieldLayout layout, std::unique_ptr<PasswordHash> hash)
    : filename_(std::move(filename)), layout_(std::move(layout)), hash_(std::move(hash)) {}

Result<Verdict> FileEauth::verify(const Login& login) const {
  const auto file = read();
  if (!file) return file.error();
  const StoredPassword stored = find_user({file->data(), file->size()}, layout_, login.username);
  const bool good = hash_->matches(login.username, login.password, stored.text);
  return Verdict{good && stored.known};
}

Result<WipedBytes> FileEauth::read() const {
  auto file = read_regular_file(AT_FDCWD, filename_, Links::follow, kMaxFileSize);
  if (file) return file;
  log::error(
      format("external_auth: file: {} {}; nobody can log in through it", filename_, file.error().message));
  return Error{ErrorKind::internal, "The eauth back end failed; the log has the cause."};
}

Result<std::unique_ptr<Eauth>> make_file_eauth(const EauthOptions& options) {
  auto settings = read_file_settings(options.settings);
  if (!settings) return std::move(settings).error();
  auto hash = hash_for(*settings);
  if (!hash) {
    return Error{ErrorKind::configuration,
                 format("external_auth: file: ^hashtype: {}", hash.error().message)};
  }
  auto eauth = std::make_unique<FileEauth>(std::move(settings->filename), std::move(settings->layout),
                                           *std::move(hash));
  // The file may come later, so this is no mistake; but whoever reads the log should not have to wait for a
  // login.
  static_cast<void>(eauth->read());
  return std::unique_ptr<Eauth>(std::move(eauth));
}

}  // namespace rest_fcgi::auth
