// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::config {
namespace {

constexpr std::int64_t kTenYearsInSeconds = 315360000;
constexpr std::string_view kHosts = "HOST, or a list of HOST or HOST:PORT with IPv6 addresses in brackets";
constexpr std::string_view kHostLetters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_";

/// What `etcd.returner` and its like say of one way to reach a cluster.
struct Profile {
  etcd::Options client;
  bool require_v2 = true;
  bool encode_values = true;
  returner::UnicodeErrors unicode_errors = returner::UnicodeErrors::replace;
};

bool only_of(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

/// `HOST:PORT` for one entry of `etcd.host`; absent where it is none.
std::optional<std::string> authority_of(std::string_view host, std::size_t port) {
  const bool is_bare_ipv6 = std::count(host.begin(), host.end(), ':') > 1 && !host.starts_with('[');
  const std::string text = is_bare_ipv6 ? format("[{}]", host) : std::string(host);
  const std::size_t bracket = text.find(']');
  const std::size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  const std::string_view name = std::string_view(text).substr(0, colon);
  const bool is_ipv6 = name.size() > 2 && name.starts_with('[') && name.ends_with(']');
  if (is_ipv6 ? !only_of(name.substr(1, name.size() - 2), "0123456789abcdefABCDEF:.")
              : !only_of(name, kHostLetters)) {
    return std::nullopt;
  }
  if (colon == std::string::npos) return format("{}:{}", text, port);
  return is_port(std::string_view(text).substr(colon + 1)) ? std::optional(text) : std::nullopt;
}

/// With the scheme that TLS asks for.
void read_endpoints(Reader& from, bool tls, etcd::Options& options) {
  std::size_t port = 2379;
  from.count("etcd.port", port, {1, 65535});
  const Node* hosts = from.value("etcd.host");
  Node local;
  local.kind = Kind::string;
  local.text = "127.0.0.1";
  const std::vector<Node> one{hosts == nullptr ? local : *hosts};
  options.endpoints.clear();
  for (const Node& host : one.front().is(Kind::list) ? one.front().items : one) {
    const auto authority = host.is(Kind::string) ? authority_of(host.text, port) : std::nullopt;
    if (!authority) return from.unexpected(host, "etcd.host", kHosts);
    options.endpoints.push_back((tls ? "https://" : "http://") + *authority);
  }
  if (options.endpoints.empty()) from.unexpected(*hosts, "etcd.host", kHosts);
}

/// A mistake where one key is there without the other.
void go_together(Reader& from, std::string_view key, std::string_view other) {
  const Node* found = from.value(key);
  if (found == nullptr || from.value(other) != nullptr) return;
  from.mistakes().add(found->place, from.path_to(key), format("stands without {}, which it needs", other));
}

void read_login(Reader& from, etcd::Options& options) {
  from.text("etcd.username", options.username);
  Secret password;
  from.secret("etcd.password", password);
  go_together(from, "etcd.username", "etcd.password");
  go_together(from, "etcd.password", "etcd.username");
  if (!password.empty()) options.password = std::make_shared<const Secret>(std::move(password));
}

/// Returns whether members are reached with TLS.
bool read_tls(Reader& from, etcd::Options& options) {
  from.absolute_path("etcd.ca", options.ca);
  from.absolute_path("etcd.client_cert", options.client_cert);
  from.absolute_path("etcd.client_key", options.client_key);
  go_together(from, "etcd.client_cert", "etcd.client_key");
  go_together(from, "etcd.client_key", "etcd.client_cert");
  // Salt would go on without TLS.
  go_together(from, "etcd.client_cert", "etcd.ca");
  return !options.ca.empty();
}

void read_encoding(Reader& from, Profile& profile) {
  from.flag("etcd.require_v2", profile.require_v2);
  from.flag("etcd.encode_values", profile.encode_values);
  bool encode_keys = false;
  from.flag("etcd.encode_keys", encode_keys);
  if (encode_keys) {
    from.unexpected(*from.value("etcd.encode_keys"), "etcd.encode_keys",
                    "false: encoded keys have no common beginnings, so that no job could be looked up");
  }
  // They say how Salt's own code shows what it reads, and nothing about what is stored.
  bool ignored = false;
  from.flag("etcd.raw_keys", ignored);
  from.flag("etcd.raw_values", ignored);
  const auto errors = from.choice("etcd.unicode_errors", {"surrogateescape", "replace", "strict"});
  if (errors == "strict") profile.unicode_errors = returner::UnicodeErrors::strict;
}

Profile read_profile(Reader from) {
  Profile profile;
  read_login(from, profile.client);
  const bool tls = read_tls(from, profile.client);
  read_endpoints(from, tls, profile.client);
  read_encoding(from, profile);
  return profile;
}

/// The map that `key` names; all options where nothing is named, as in Salt. A name that is none is a mistake
/// here: Salt would talk to 127.0.0.1.
Reader profile_named(Reader& top, std::string_view key, const std::string& name) {
  if (name.empty()) return top;
  const Node* found = top.value(name);
  if (found != nullptr && found->is(Kind::map)) return top.section(name);
  top.unexpected(*top.value(key), key, "the name of a map at the top level with etcd.host and etcd.port");
  return {nullptr, name, top.mistakes()};
}

/// The name that `key` has, or else that of `etcd.returner`; and which of both keys has it.
std::pair<std::string_view, std::string> profile_name(Reader& top, std::string_view key) {
  std::string name;
  top.text(key, name);
  if (!name.empty()) return {key, name};
  top.text("etcd.returner", name);
  return {"etcd.returner", name};
}

/// Salt's rule: of the profile for writing where one is named, else of the top level alone.
void read_ttl(Reader& top, Reader& writing, bool has_profile, returner::EtcdOptions& options,
              std::vector<std::string>& warnings) {
  Reader& from = has_profile ? writing : top;
  from.whole_seconds("etcd.ttl", options.ttl, {0, kTenYearsInSeconds});
  const Node* unread = has_profile ? nullptr : writing.value("etcd.ttl");
  if (unread == nullptr || top.value("etcd.ttl") != nullptr) return;
  warnings.push_back(
      mistake_at(unread->place,
                 "etcd.ttl: has no effect in the profile that etcd.returner names, as in Salt; "
                 "it belongs to the top level, or into etcd.returner_write_profile")
          .message);
}

}  // namespace

bool is_etcd_returner_chosen(Reader& top) {
  constexpr std::string_view kKeys[] = {"etcd.returner", "etcd.returner_root", "etcd.returner_read_profile",
                                        "etcd.returner_write_profile"};
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&top](std::string_view key) { return top.value(key) != nullptr; });
}

void read_etcd_returner(Reader& top, const std::string& spool, returner::EtcdOptions& options,
                        std::vector<std::string>& warnings) {
  options.is_chosen = true;
  options.spool = spool;
  top.text("etcd.returner_root", options.root);
  const auto [write_key, write_name] = profile_name(top, "etcd.returner_write_profile");
  const auto [read_key, read_name] = profile_name(top, "etcd.returner_read_profile");
  Reader writing = profile_named(top, write_key, write_name);
  Profile to_write = read_profile(writing);
  Profile to_read = read_profile(profile_named(top, read_key, read_name));
  if (to_write.require_v2 != to_read.require_v2) {
    const std::string_view key = top.value(read_key) == nullptr ? write_key : read_key;
    top.mistakes().add(top.value(key)->place, key,
                       "etcd.require_v2 differs between reading and writing: what is written through one API "
                       "of etcd is not seen through the other");
  }
  options.require_v2 = to_write.require_v2;
  options.encode_values = to_write.encode_values;
  options.unicode_errors = to_read.unicode_errors;
  options.writing = std::move(to_write.client);
  options.reading = std::move(to_read.client);
  read_ttl(top, writing, write_key != "etcd.returner", options, warnings);
}

}  // namespace rest_fcgi::config
