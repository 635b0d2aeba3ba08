// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/salt/salt_master.h"
#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/core/text.h"
#include "rest_fcgi/core/unique_fd.h"

/// A session is a token of the master. The master makes the token (`mk_token`) and returns its owner
/// (`get_token`). The master cannot revoke a token, so a logout adds the token to `auth::RevocationList`. If
/// this process may delete the token's file, a logout also deletes this file.
namespace rest_fcgi::salt {

Result<master::Session> SaltMaster::login(const auth::Credentials& credentials, SteadyTime deadline) {
  return session_of(client_.login_anew(credentials, deadline));
}

Result<master::Session> SaltMaster::session(SecretView token, SteadyTime deadline) {
  return session_of(client_.holder(token, deadline));
}

Result<void> SaltMaster::logout(SecretView token, SteadyTime deadline) {
  const auto held = client_.holder(token, deadline);
  if (!held) return held.error();
  // The token is revoked before its file is removed. If the revocation fails, the token keeps its file, so
  // the caller may try again.
  if (auto ended = client_.log_out(token, **held); !ended) return ended;
  if (const auto removed = remove_token_file(options_.token_dir, token.reveal()); !removed) {
    log::info(
        format("a token of user \"{}\" was revoked in rest_fcgi, but the Salt master's token file was not "
               "removed: {}",
               (*held)->name, removed.error().message));
  }
  return {};
}

Result<master::Session> SaltMaster::session_of(const Result<MasterClient::GrantPtr>& grant) const {
  if (!grant) return grant.error();
  const auth::Grant& given = **grant;
  const auth::Subject subject{given.eauth, given.name, given.groups};
  const auto of_token = permissions_of_token(given);
  const auth::Permissions& rules = of_token ? *of_token : *permissions_;
  Json perms = of_token ? *given.auth_list : rules.shown(subject);
  if (perms == Json::trusted("[]")) perms = Json::empty_object();
  return master::Session{given.token.copy(),
                         given.start,
                         given.expire,
                         given.name,
                         given.eauth,
                         std::move(perms),
                         rules.event_scope(subject),
                         rules.can_read_metrics(subject)};
}

Result<void> remove_token_file(const std::string& token_dir, std::string_view token) {
  const auto failed = [](std::string_view why) { return Error{ErrorKind::unavailable, std::string(why)}; };
  if (!only_of(token, kHexDigits)) return failed("the token has characters that are not hexadecimal digits");
  const UniqueFd folder(::open(token_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::string name(token);
  struct stat status {};
  const auto is_there = [&] {
    return ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  if (!folder.is_open()) return failed(errno_text());
  if (!is_there()) {
    name += ".p";  // Salt 3008 adds `.p` to the file's name.
    if (!is_there()) return failed(errno_text());
  }
  if (!S_ISREG(status.st_mode)) return failed("it is not a regular file");
  return ::unlinkat(folder.get(), name.c_str(), 0) == 0 ? Result<void>() : failed(errno_text());
}

}  // namespace rest_fcgi::salt
