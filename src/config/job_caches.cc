// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/sections.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/secret.h"
#include "rest_fcgi/core/text.h"

namespace rest_fcgi::config {
namespace {

constexpr std::int64_t kTenYearsInHours = 87600;
constexpr std::string_view kMemory = "memory";
constexpr std::string_view kSqlite = "sqlite3";
constexpr std::string_view kEtcd = "etcd";
constexpr std::string_view kCacheNames = "local_cache, sqlite3, etcd or memory";

/// The job cache of that name; empty where there is none. `local_cache` is what Salt uses unless told
/// otherwise, and so it stands for what is used here then.
std::string_view job_cache(std::string_view name) {
  if (name == kMemory) return kMemory;
  if (name == kEtcd) return kEtcd;
  if (name == kSqlite || name == "sqlite" || name == "local_cache") return kSqlite;
  return {};
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) parts.emplace_back(trimmed(next_token(list, ',')));
  return parts;
}

/// Returns whether the file names SQLite.
bool read_names(Reader& top, returner::Options& options) {
  bool chosen = false;
  std::string master = "local_cache";
  top.text("master_job_cache", master);
  options.master_job_cache = job_cache(master);
  if (options.master_job_cache.empty()) {
    top.unexpected(*top.value("master_job_cache"), "master_job_cache", kCacheNames);
  } else {
    chosen = options.master_job_cache == kSqlite && master != "local_cache";
  }
  std::string others;
  top.text("ext_job_cache", others);
  for (const std::string& name : parts_of(others)) {
    const std::string cache(job_cache(name));
    if (cache.empty()) {
      top.unexpected(*top.value("ext_job_cache"), "ext_job_cache",
                     "names of job caches, separated by commas: sqlite3, etcd or memory");
    } else if (cache != options.master_job_cache) {  // which gets everything already
      options.ext_job_cache.push_back(cache);
      chosen = chosen || cache == kSqlite;
    }
  }
  return chosen;
}

/// As in Salt: hours count where nobody said seconds.
void read_age(Reader& top, returner::Options& options) {
  top.whole_seconds("keep_jobs_seconds", options.keep_jobs_seconds, {0, kTenYearsInHours * kHour.count()});
  std::size_t hours = 24;
  top.count("keep_jobs", hours, {0, kTenYearsInHours});
  const returner::Options defaults;
  if (hours == 24 || options.keep_jobs_seconds != defaults.keep_jobs_seconds) return;
  options.keep_jobs_seconds = kHour * hours;
  top.findings().warn(top.value("keep_jobs")->place,
                      "keep_jobs: is Salt's old name; keep_jobs_seconds is the new one, in seconds");
}

/// Does a key of Salt's etcd returner stand there?
bool is_etcd_returner_chosen(Reader& top) {
  constexpr std::string_view kKeys[] = {"etcd.returner", "etcd.returner_root", "etcd.returner_read_profile",
                                        "etcd.returner_write_profile"};
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&top](std::string_view key) { return top.value(key) != nullptr; });
}

/// Where it is a job cache, or may be named in a call: elsewhere in Salt, too, `etcd.*` keys mean something.
void read_etcd(Reader& top, Settings& settings) {
  const std::vector<std::string>& others = settings.returner.ext_job_cache;
  if (settings.returner.master_job_cache == kEtcd ||
      std::find(others.begin(), others.end(), kEtcd) != others.end() || is_etcd_returner_chosen(top)) {
    read_etcd_returner(top, settings.returner.etcd);
  }
}

constexpr std::int64_t kTenYearsInSeconds = 315360000;
constexpr std::string_view kHostForms =
    "HOST, or a list of HOST or HOST:PORT with IPv6 addresses in brackets";

/// What `etcd.returner` and its like say of one way to reach a cluster.
struct Profile {
  etcd::Options client;
  bool require_v2 = true;
  bool encode_values = true;
  returner::UnicodeErrors unicode_errors = returner::UnicodeErrors::replace;
};

/// `HOST:PORT` for one entry of `etcd.host`; absent where it is none.
std::optional<std::string> authority_of(std::string_view host, std::size_t port) {
  const bool is_bare_ipv6 = std::count(host.begin(), host.end(), ':') > 1 && !host.starts_with('[');
  const std::string text = is_bare_ipv6 ? format("[{}]", host) : std::string(host);
  const std::size_t bracket = text.find(']');
  const std::size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  const std::string_view name = std::string_view(text).substr(0, colon);
  const std::string_view bare = without_brackets(name);
  if (!is_host(bare) || (bare.find(':') != std::string_view::npos) != (bare.size() < name.size())) {
    return std::nullopt;
  }
  if (colon == std::string::npos) return format("{}:{}", text, port);
  return parse_port(std::string_view(text).substr(colon + 1)) ? std::optional(text) : std::nullopt;
}

/// With the scheme that TLS asks for.
void read_endpoints(Reader& from, bool tls, etcd::Options& options) {
  std::size_t port = 2379;
  from.count("etcd.port", port, {1, 65535});
  const Node* hosts = from.value("etcd.host");
  const Node local{.kind = Kind::string, .text = "127.0.0.1"};
  options.endpoints.clear();
  for (const Node& host : items_of(hosts == nullptr ? local : *hosts)) {
    if (is_empty(host)) continue;
    const auto authority = host.is(Kind::string) ? authority_of(host.text, port) : std::nullopt;
    if (!authority) return from.unexpected(host, "etcd.host", kHostForms);
    options.endpoints.push_back((tls ? "https://" : "http://") + *authority);
  }
  if (options.endpoints.empty()) from.unexpected(*hosts, "etcd.host", kHostForms);
}

/// A mistake where one key is there without the other.
void go_together(Reader& from, std::string_view key, std::string_view other) {
  const Node* found = from.value(key);
  if (found == nullptr || from.value(other) != nullptr) return;
  from.findings().add(found->place, from.path_to(key), format("stands without {}, which it needs", other));
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
  const Node* found = top.value_or_empty(name);
  if (found != nullptr && (found->is(Kind::map) || is_empty(*found))) return top.section(name);
  top.unexpected(*top.value(key), key, "the name of a map at the top level with etcd.host and etcd.port");
  return {nullptr, name, top.findings(), Style::lenient};
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
void read_ttl(Reader& top, Reader& writing, bool has_profile, returner::EtcdOptions& options) {
  Reader& from = has_profile ? writing : top;
  from.whole_seconds("etcd.ttl", options.ttl, {0, kTenYearsInSeconds});
  const Node* unread = has_profile ? nullptr : writing.value("etcd.ttl");
  if (unread == nullptr || top.value("etcd.ttl") != nullptr) return;
  top.findings().warn(unread->place,
                      "etcd.ttl: has no effect in the profile that etcd.returner names, as in Salt; "
                      "it belongs to the top level, or into etcd.returner_write_profile");
}

/// One way to reach a cluster, for a comparison. Of its password there is no more than a hash.
std::string as_text(const etcd::Options& options) {
  const std::string_view password =
      options.password == nullptr ? std::string_view() : options.password->reveal().text;
  return format("{} {} {} {} {} {}", joined(options.endpoints, ","), options.username, options.ca,
                options.client_cert, options.client_key, std::hash<std::string_view>{}(password));
}

/// Where `eauth_tokens` says so. Tokens are kept through API v3 whatever `etcd.require_v2` says: a cluster
/// that serves API v2 serves it as well.
void read_tokens_in_etcd(Reader& top, auth::Options& options) {
  if (top.choice("eauth_tokens", {"localfs", "etcd"}) != "etcd") return;
  auth::TokensInEtcd tokens;
  top.text("etcd.tokens_root", tokens.root);
  while (tokens.root.ends_with('/')) tokens.root.pop_back();
  const auto [key, name] = profile_name(top, "etcd.tokens_profile");
  tokens.cluster = read_profile(profile_named(top, key, name)).client;
  options.tokens_in_etcd = std::move(tokens);
}

}  // namespace

void note_etcd_returner(Reader& top, const returner::EtcdOptions& options) {
  top.note_start_key("etcd.returner_root", options.root);
  top.note_start_key("etcd.ttl", options.ttl.count());
  top.note_start_key("etcd.returner", format("{} {} {} {} {} {}", options.is_chosen, options.require_v2,
                                             options.encode_values, static_cast<int>(options.unicode_errors),
                                             as_text(options.writing), as_text(options.reading)));
}

void read_job_caches(Reader& top, Settings& settings) {
  returner::Options& options = settings.returner;
  settings.store.may_be_in_memory = !read_names(top, options);
  const std::string where = format("jobs are in {}", settings.store.path);
  top.warn_of_removed("sqlite3.database", where);
  top.warn_of_removed("sqlite3.timeout", "the database's lock is waited for 5 seconds");
  read_etcd(top, settings);
  read_tokens_in_etcd(top, settings.auth);
  read_age(top, options);
  top.note_start_key("master_job_cache", options.master_job_cache);
  top.note_start_key("ext_job_cache", joined(options.ext_job_cache, ","));
  top.note_start_key("keep_jobs_seconds", options.keep_jobs_seconds.count());
}

void read_etcd_returner(Reader& top, returner::EtcdOptions& options) {
  options.is_chosen = true;
  top.text("etcd.returner_root", options.root);
  const auto [write_key, write_name] = profile_name(top, "etcd.returner_write_profile");
  const auto [read_key, read_name] = profile_name(top, "etcd.returner_read_profile");
  Reader writing = profile_named(top, write_key, write_name);
  Profile to_write = read_profile(writing);
  Profile to_read = read_profile(profile_named(top, read_key, read_name));
  if (to_write.require_v2 != to_read.require_v2) {
    const std::string_view key = top.value(read_key) == nullptr ? write_key : read_key;
    top.findings().add(top.value(key)->place, key,
                       "etcd.require_v2 differs between reading and writing: what is written through one API "
                       "of etcd is not seen through the other");
  }
  options.require_v2 = to_write.require_v2;
  options.encode_values = to_write.encode_values;
  options.unicode_errors = to_read.unicode_errors;
  options.writing = std::move(to_write.client);
  options.reading = std::move(to_read.client);
  read_ttl(top, writing, write_key != "etcd.returner", options);
}

}  // namespace rest_fcgi::config
