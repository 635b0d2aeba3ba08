// SPDX-License-Identifier: MIT
#include "returner/stored.h"

#include <algorithm>

#include "rest_fcgi/core/excerpt.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/json_document.h"

// The jid 20261120231501000001 has the key 261120231501000001. A jid before the year 2000 has a negative key.
// Minions' returns are a JSON list with one object for each return:
//   [{"id": "MINION", "return": VALUE, "retcode": 1, "success": false, "out": "nested"}, ...]
// `retcode` is missing if it is 0, `success` if it is true, and `out` if it is empty.

namespace rest_fcgi::returner {
namespace {

constexpr JidKey kCentury = 1'000'000'000'000'000'000;
constexpr JidKey kOurCentury = 20;
// A jid from an earlier or later century does not fit into a key.
constexpr JidKey kFirstCentury = 11;
constexpr JidKey kLastCentury = 28;
constexpr JidKey kLeast = (kFirstCentury - kOurCentury) * kCentury;
constexpr JidKey kGreatest = (kLastCentury - kOurCentury + 1) * kCentury - 1;

JsonDocument parsed(std::string_view json) {
  return own_document(Json::trusted(std::string(json)));
}

JobReturn return_in(const JsonValue& value) {
  JobReturn ret;
  ret.minion = value.find("id").value_or(JsonValue()).text();
  ret.ret = value.find("return").value_or(JsonValue()).json();
  ret.retcode = static_cast<int>(value.find("retcode").value_or(JsonValue()).integer().value_or(0));
  ret.success = !value.find("success");
  ret.out = value.find("out").value_or(JsonValue()).text();
  return ret;
}

}  // namespace

std::optional<JidKey> key_of(std::string_view jid) noexcept {
  if (!is_jid(jid)) return std::nullopt;
  const JidKey century = (jid[0] - '0') * 10 + (jid[1] - '0');
  if (century < kFirstCentury || century > kLastCentury) return std::nullopt;
  return (century - kOurCentury) * kCentury + parse_number<JidKey>(jid.substr(2)).value_or(0);
}

JidKey nearest_key(std::string_view jid) noexcept {
  const std::string_view digits = jid.substr(0, kJidDigits);
  return key_of(digits).value_or(digits < "2" ? kLeast : kGreatest);
}

std::string jid_of(JidKey key) {
  // The difference of two keys may be too large for a signed number.
  const std::uint64_t from_first = static_cast<std::uint64_t>(key) - static_cast<std::uint64_t>(kLeast);
  constexpr auto kSize = static_cast<std::uint64_t>(kCentury);
  return format("{:02}{:018}", from_first / kSize + kFirstCentury, from_first % kSize);
}

Error no_key_of(std::string_view jid, std::string_view cache) {
  return {
      ErrorKind::invocation,
      format(
          "The job cache {}: found the jid {}, expected 20 digits that begin with a year from 1100 to 2899.",
          cache, quoted_excerpt(jid))};
}

JidKeys keys_of(const JobQuery& query) noexcept {
  JidKeys keys{kLeast, kGreatest};
  for (const std::string* bound : {&query.first, &query.after}) {
    if (!bound->empty()) keys.least = std::max(keys.least, nearest_key(*bound));
  }
  for (const std::string* bound : {&query.last, &query.before}) {
    if (!bound->empty()) keys.greatest = std::min(keys.greatest, nearest_key(*bound));
  }
  return keys;
}

bool selects(const JobQuery& query, std::string_view jid) {
  return jid >= query.first && (query.last.empty() || jid <= query.last) &&
         (query.after.empty() || jid > query.after) && (query.before.empty() || jid < query.before);
}

void add_minions(std::vector<std::string>& minions, const std::vector<std::string>& more) {
  for (const std::string& minion : more) {
    const auto at = std::lower_bound(minions.begin(), minions.end(), minion);
    if (at == minions.end() || *at != minion) minions.insert(at, minion);
  }
}

std::string strings_json(const std::vector<std::string>& strings) {
  return written_json([&](JsonWriter& writer) { write_strings(writer, strings); }).text();
}

std::vector<std::string> strings_in(std::string_view json) {
  const JsonDocument document = parsed(json);
  std::vector<std::string> strings;
  for (const JsonValue value : document.root().elements()) strings.emplace_back(value.text());
  return strings;
}

std::string returns_json(std::span<const ReturnView> returns) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  for (const ReturnView& ret : returns) {
    writer.begin_object().key("id").string(ret.minion).key("return").raw(ret.ret);
    if (ret.retcode != 0) writer.key("retcode").integer(ret.retcode);
    if (!ret.success) writer.key("success").boolean(false);
    if (!ret.out.empty()) writer.key("out").string(ret.out);
    writer.end_object();
  }
  writer.end_array();
  return text;
}

std::vector<JobReturn> returns_in(std::string_view json) {
  const JsonDocument document = parsed(json);
  std::vector<JobReturn> returns;
  for (const JsonValue value : document.root().elements()) returns.push_back(return_in(value));
  return returns;
}

}  // namespace rest_fcgi::returner
