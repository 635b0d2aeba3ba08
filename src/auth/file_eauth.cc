// SPDX-License-Identifier: MIT
#include "auth/file_eauth.h"

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

using Type = FileSettings::Type;

Error mistake(std::string_view setting, std::string_view found, std::string_view accepted) {
  return {ErrorKind::configuration,
          format("external_auth: file: ^{}: \"{}\" found, {} expected", setting, found, accepted)};
}

/// A field's number, which counts from 1, as an index.
Result<std::size_t> read_index(std::string_view setting, std::string_view text) {
  const auto number = parse_number<std::size_t>(text);
  if (!number || *number < 1) return mistake(setting, text, "a number from 1");
  return *number - 1;
}

Result<Type> read_type(std::string_view text) {
  if (text == "text") return Type::text;
  if (text == "htpasswd") return Type::htpasswd;
  if (text == "htdigest") return Type::htdigest;
  return mistake("filetype", text, "text, htpasswd or htdigest");
}

template <class T>
Result<void> store(Result<T> value, T& to) {
  if (!value) return std::move(value).error();
  to = *std::move(value);
  return {};
}

Result<void> read_setting(const std::string& name, const std::string& value, FileSettings& to) {
  if (name == "filename") return store<std::string>(value, to.filename);
  if (name == "filetype") return store(read_type(value), to.type);
  if (name == "hashtype") return store<std::string>(value, to.hashtype);
  if (name == "realm") return store<std::string>(value, to.layout.realm);
  if (name == "username_field") return store(read_index(name, value), to.layout.username);
  if (name == "password_field") return store(read_index(name, value), to.layout.password);
  if (name == "field_separator") {
    if (value.empty()) return mistake(name, value, "at least one character");
    return store<std::string>(value, to.layout.separator);
  }
  return Error{
      ErrorKind::configuration,
      format("external_auth: file: ^{}: unknown setting; there are ^filename, ^filetype, ^realm, ^hashtype, "
             "^field_separator, ^username_field and ^password_field",
             name)};
}

/// Apache's files have a layout of their own, whatever the settings for text say.
Result<FieldLayout> layout_of(const FileSettings& settings) {
  if (settings.type == Type::htpasswd) return FieldLayout{":", 0, 1, "", true};
  if (settings.type == Type::htdigest) {
    if (settings.layout.realm.empty()) {
      return mistake("realm", "", "the realm, which htdigest files need,");
    }
    return FieldLayout{":", 0, 2, settings.layout.realm, true};
  }
  FieldLayout layout = settings.layout;
  layout.realm.clear();
  return layout;
}

Result<PasswordHash> hash_for(const FileSettings& settings) {
  if (settings.type == Type::htdigest) return make_htdigest_hash(settings.layout.realm);
  return make_password_hash(settings.type == Type::htpasswd ? "htpasswd" : settings.hashtype);
}

/// Errors: unavailable or internal, after the cause was logged.
Result<std::shared_ptr<const Users>> read_users(UserFile& file) {
  auto users = file.users();
  if (users) return users;
  log::error(
      format("external_auth: file: {} {}; nobody can log in through it", file.path(), users.error().message));
  const bool may_pass = users.error().kind == ErrorKind::unavailable;
  return Error{may_pass ? ErrorKind::unavailable : ErrorKind::internal,
               "The eauth back end failed; the log has the cause."};
}

/// The back end's parts, shared by its copies.
class FileEauth {
 public:
  FileEauth(std::shared_ptr<UserFile> file, PasswordHash matches,
            std::shared_ptr<PasswordHashLimiter> limiter)
      : file_(std::move(file)), matches_(std::move(matches)), limiter_(std::move(limiter)) {}

  [[nodiscard]] Result<Verdict> verify(const Login& login) const {
    const auto users = read_users(*file_);
    if (!users) return users.error();
    const Users::Found found = (*users)->find(login.username);
    const auto begun = std::chrono::steady_clock::now();
    std::chrono::steady_clock::duration waited;
    {
      const auto pass = limiter_->enter(login.remote, memory_of_hash(found.stored), login.deadline);
      if (!pass) return pass.error();
      waited = std::chrono::steady_clock::now() - begun;
      if (matches_(login.username, login.password, found.stored) && found.is_user) return Verdict{true};
    }
    // Those who waited for their turn did so whatever the name is. What is to be hidden began after that.
    const auto step = failure_step(**users, login);
    const auto taken = std::chrono::steady_clock::now() - begun - waited;
    std::this_thread::sleep_for(step - taken % step);
    return Verdict{};
  }

  [[nodiscard]] std::string stamp() const { return file_->stamp(); }

 private:
  [[nodiscard]] std::chrono::steady_clock::duration failure_step(const Users& users,
                                                                 const Login& login) const {
    return users.failure_step([&](std::string_view stored) {
      const auto pass = limiter_->enter(login.remote, memory_of_hash(stored), SteadyTime::max());
      static_cast<void>(matches_("", SecretView("?"), stored));
    });
  }

  const std::shared_ptr<UserFile> file_;
  const PasswordHash matches_;
  const std::shared_ptr<PasswordHashLimiter> limiter_;
};

}  // namespace

Result<FileSettings> read_file_settings(const std::vector<std::pair<std::string, std::string>>& settings) {
  FileSettings result;
  for (const auto& [name, value] : settings) {
    if (auto read = read_setting(name, value, result); !read) return std::move(read).error();
  }
  if (result.filename.empty()) return mistake("filename", "", "the path of the file with the users");
  auto layout = layout_of(result);
  if (!layout) return std::move(layout).error();
  result.layout = *std::move(layout);
  return result;
}

Eauth file_eauth(std::shared_ptr<UserFile> file, PasswordHash hash,
                 std::shared_ptr<PasswordHashLimiter> limiter) {
  const auto parts = std::make_shared<const FileEauth>(std::move(file), std::move(hash), std::move(limiter));
  return {"file", [parts](const Login& login) { return parts->verify(login); },
          [parts] { return parts->stamp(); }};
}

Result<Eauth> make_file_eauth(const EauthOptions& options, std::shared_ptr<PasswordHashLimiter> limiter) {
  auto settings = read_file_settings(options.settings);
  if (!settings) return std::move(settings).error();
  auto hash = hash_for(*settings);
  if (!hash) {
    return Error{ErrorKind::configuration,
                 format("external_auth: file: ^hashtype: {}", hash.error().message)};
  }
  auto file = UserFile::make(std::move(settings->filename), std::move(settings->layout));
  if (!file) return std::move(file).error();
  // The file may come later, so that a missing one is no mistake; but whoever reads the log should not have
  // to wait for a login.
  const auto users = (*file)->users();
  if (!users && users.error().kind == ErrorKind::configuration) {
    return Error{ErrorKind::configuration,
                 format("external_auth: file: ^filename: {} {}", (*file)->path(), users.error().message)};
  }
  if (!users) static_cast<void>(read_users(**file));
  return file_eauth(*std::move(file), *std::move(hash), std::move(limiter));
}

}  // namespace rest_fcgi::auth
