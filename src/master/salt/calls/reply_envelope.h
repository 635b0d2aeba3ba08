// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string_view>

#include "master/salt/calls/reply.h"
#include "master/salt/packed/fields.h"

/// What all replies have in common.
namespace rest_fcgi::salt {

/// The wanted fields of a reply that is a map, or the refusal that it is. Errors: invocation and internal,
/// for all that says or shows that the master did not do what was asked.
[[nodiscard]] Result<Answer<Fields>> open_reply(std::string_view bytes,
                                                std::initializer_list<std::string_view> wanted);

/// A failure for a reply that is none of what is known. `what` is about its form, and holds none of its
/// content, which may be a secret.
[[nodiscard]] Error unknown_reply(std::string_view what);

/// A failure in the master's own words.
[[nodiscard]] Error said(std::string_view text);

/// The same refusal of a call that would have given a T.
template <class T>
Answer<T> refused_as(Answer<Fields> answer) {
  return {answer.refusal, std::move(answer.message), {}};
}

}  // namespace rest_fcgi::salt
