// SPDX-License-Identifier: MIT
#include "auth/tokens.h"

#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::auth {
namespace {

constexpr std::size_t kTokenBytes = 32;
constexpr std::size_t kMinDigits = 40;
constexpr std::size_t kMaxDigits = 128;

bool has_form_of_token(std::string_view text) {
  return text.size() >= kMinDigits && text.size() <= kMaxDigits && only_of(text, kHexDigits);
}

Error refused_token(std::string cause) {
  return {ErrorKind::authentication, std::move(cause)};
}

}  // namespace

Result<Secret> Tokens::add(std::string name, std::string eauth, std::vector<std::string> groups,
                           std::optional<std::chrono::milliseconds> life) {
  WipedBytes random(kTokenBytes);
  if (auto drawn = fill_random(random); !drawn) return std::move(drawn).error();
  const WipedBytes digits = to_hex({random.data(), random.size()});
  Secret token(std::string_view(digits.data(), digits.size()));
  const WallTime now = clock_.wall();
  const TokenRecord record{std::move(name), std::move(eauth), std::move(groups), now,
                           now + life.value_or(life_)};
  auto added = backend_->add(sha256_digits({token.reveal().text}), record);
  return added ? Result(std::move(token)) : std::move(added).error();
}

Result<TokenRecord> Tokens::find(SecretView token) const {
  if (!has_form_of_token(token.reveal())) return refused_token("it is not 40 to 128 hexadecimal digits");
  const std::string hash = sha256_digits({token.reveal()});
  auto found = backend_->find(hash);
  if (!found && found.error().kind == ErrorKind::unavailable) return std::move(found).error();
  if (!found) return refused_token(format("{}: {}", hash, found.error().message));
  if (!*found) return refused_token("there is no such token");
  TokenRecord record = **std::move(found);
  if (record.expire > clock_.wall()) return record;
  return Error{ErrorKind::not_found, format("it has expired (user {})", record.name)};
}

Result<void> Tokens::revoke(SecretView token) const {
  return backend_->remove(sha256_digits({token.reveal()}));
}

std::optional<std::vector<std::string>> read_groups(std::optional<JsonValue> value) {
  if (!value || !value->is(JsonValue::Kind::array)) return std::nullopt;
  std::vector<std::string> groups;
  for (const JsonValue element : value->elements()) {
    if (!element.is(JsonValue::Kind::string) || element.text().empty()) return std::nullopt;
    groups.emplace_back(element.text());
  }
  return groups;
}

}  // namespace rest_fcgi::auth
