// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/returner/options.h"
#include "rest_fcgi/returner/returner.h"
#include "returner/record.h"

/// Loads and returns as Salt's etcd returner writes them, before they are encoded, and read from whoever
/// wrote them.
namespace rest_fcgi::returner {

/// What returns say of the job that they belong to. JSON texts.
struct JobFacts {
  std::string fun;
  std::string arg;
};

/// Salt's load, with `Minions` as Salt's own job cache shows them; `metadata` stands in `kwargs`.
[[nodiscard]] std::string load_text(std::string_view jid, const LoadView& load);

/// From a load, or from the return that a master wrote over it: what that does not tell is as Salt shows it
/// then. Absent where `text` is no JSON object.
[[nodiscard]] std::optional<Load> load_in(std::string_view jid, std::string_view text, UnicodeErrors errors);

/// `text` with these minions as well; absent where it is no JSON object. All else stays as it is.
[[nodiscard]] std::optional<std::string> with_minions(std::string_view text,
                                                      const std::vector<std::string>& minions);

/// The fields of a return, in Salt's order, and their JSON texts; without `_stamp` where `stamp` is empty.
[[nodiscard]] std::vector<std::pair<std::string_view, std::string>> return_fields(std::string_view jid,
                                                                                  const JobReturn& ret,
                                                                                  const JobFacts& facts,
                                                                                  std::string_view stamp);

/// Takes one field of a return up, by its name; one that is not known is passed over. False where it is not
/// the one that makes a return.
bool read_field(JobReturn& ret, std::string_view name, std::string_view text, UnicodeErrors errors);

/// A value as JSON; as a JSON text of all of it, where it is none.
[[nodiscard]] Json json_in(std::string_view text, UnicodeErrors errors);

}  // namespace rest_fcgi::returner
