// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/master/secrets.h"

namespace rest_fcgi::salt {

/// What no listener gets to see of an event, whoever that is: Salt puts a refused call as a whole on its bus,
/// with the caller's password and the master's root key, and so are there a runner's arguments, the private
/// keys that `wheel.key.gen` makes, and the session of whoever posted to salt-api's `/hook`. The rule:
///
/// 1. What a minion returned is shown as it is: `return` and `retcode` of `salt/job/J/ret/M` and of the bare
///    `J`, `data.return` and `data.ret` of `salt/job/J/prog/...`. All that follows is about all else, also
///    about what runners and wheels return.
/// 2. The value of a member, at any depth, is hidden where the member's name says that it is a secret
///    (`master::names_a_secret`).
/// 3. Of a text that comes with such a name, as in `password=x`, `"token": "x"`, `--password x`, what follows
///    the name is hidden: arguments are sent like that, and a hook has its caller's whole body as one text.
/// 4. `key` and `eauth` are secrets in the errors `salt/job/error`, `salt/job/J/error` and `_salt_error`
///    alone, and `payload` in `cluster/...`: elsewhere these names mean other things.
///
/// A secret that nothing names, such as a password that is a function's second argument, is not seen. Borrows
/// nothing. Source: the loads and events of all three lines. Immutable.
class Redaction final : public Discretion {
 public:
  explicit Redaction(std::string_view tag);

  [[nodiscard]] Verdict of_member(std::string_view key, std::size_t depth) const override;
  [[nodiscard]] std::size_t shown_bytes(std::string_view text) const override;

 private:
  enum class Kind : std::uint8_t { any, job_return, progress, error, cluster };
  [[nodiscard]] static Kind kind_of(std::string_view tag) noexcept;
  const Kind kind_;
};

}  // namespace rest_fcgi::salt
