// SPDX-License-Identifier: MIT
#include "master/embedded/minion.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "master/embedded/host/grains.h"
#include "master/embedded/text.h"
#include "rest_fcgi/auth/rsa_pair.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::embedded {

namespace {

constexpr std::size_t kMaxIdLength = 255;  // The largest size of an id in bytes. Salt uses ids as file names.

Error configuration(std::string message) {
  return {ErrorKind::configuration, std::move(message)};
}

Result<JsonDocument> object(const Json& json, std::string_view what, std::string_view id) {
  JsonDocument document = own_document(json);
  if (!document.root().is(JsonValue::Kind::object)) {
    return configuration(
        format("the {} of minion {}: found {}, expected a map", what, id, document.root().type_name()));
  }
  return document;
}

JsonDocument merged(JsonValue base, JsonValue over) {
  return own_document(written_json([&](JsonWriter& writer) { write_merged(writer, base, over, false); }));
}

/// Returns the grain `server_id` of Salt: the last 31 bits of the SHA-256 of the minion's id.
std::uint32_t server_id(std::string_view id) {
  const Result<std::string> fingerprint = auth::fingerprint_of(id, "sha256");
  if (!fingerprint) return 0;
  std::string digits = *fingerprint;
  std::erase(digits, ':');
  constexpr std::size_t kDigits = 8;
  constexpr std::uint32_t kBits = 0x7fffffff;
  return parse_number<std::uint32_t>(digits.substr(digits.size() - kDigits), 16).value_or(0) & kBits;
}

Result<Minion> make_minion(const MinionOptions& options, JsonValue host) {
  if (Result<void> checked = check_minion_id(options.id); !checked) return std::move(checked).error();
  Result<JsonDocument> pillar = object(options.pillar, "pillar", options.id);
  if (!pillar) return std::move(pillar).error();
  Result<JsonDocument> declared = object(options.grains, "grains", options.id);
  if (!declared) return std::move(declared).error();

  const JsonDocument computed =
      own_document(Json::trusted(format("{{\"server_id\": {}}}", server_id(options.id))));
  const JsonDocument id =
      own_document(Json::trusted(format("{{\"id\": {}}}", Json::string(options.id).text())));
  const JsonDocument own = merged(merged(computed.root(), declared->root()).root(), id.root());
  return Minion{options.id, merged(host, own.root()), *std::move(pillar)};
}

}  // namespace

Result<void> check_minion_id(std::string_view id) {
  if (!id.empty() && id.size() <= kMaxIdLength && id != "." && id != ".." &&
      id.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos) {
    return {};
  }
  return configuration(
      format("minion id: found {}, expected 1 to {} bytes without slash and NUL, and not \".\" or \"..\"",
             Json::string(id.substr(0, kMaxIdLength)).text(), kMaxIdLength));
}

Result<std::shared_ptr<const Minions>> Minions::make(
    const std::vector<MinionOptions>& declared, const std::vector<master::NodegroupOptions>& nodegroups) {
  const JsonDocument host = own_document(host_grains());
  std::vector<MinionOptions> options = declared;
  if (options.empty()) options.push_back({.id = host_name()});
  std::sort(options.begin(), options.end(), [](const auto& a, const auto& b) { return a.id < b.id; });

  std::vector<Minion> minions;
  for (const MinionOptions& one : options) {
    if (!minions.empty() && minions.back().id == one.id) {
      return configuration(format("two minions have the id {}", one.id));
    }
    Result<Minion> minion = make_minion(one, host.root());
    if (!minion) return std::move(minion).error();
    minions.push_back(*std::move(minion));
  }
  std::shared_ptr<Minions> made(new Minions(std::move(minions)));
  Result<Nodegroups> groups = Nodegroups::make(nodegroups, made->minions_);
  if (!groups) return std::move(groups).error();
  made->nodegroups_ = *std::move(groups);
  return std::shared_ptr<const Minions>(std::move(made));
}

Minions::Minions(std::vector<Minion> minions) : minions_(std::move(minions)) {
  positions_.reserve(minions_.size());
  for (std::size_t i = 0; i < minions_.size(); ++i) positions_.emplace(minions_[i].id, i);
}

std::optional<std::size_t> Minions::position(std::string_view id) const {
  const auto found = positions_.find(id);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

}  // namespace rest_fcgi::embedded
