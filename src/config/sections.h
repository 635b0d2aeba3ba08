// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/result.h"

/// Functions that read parts of the master file into options. The functions add mistakes and warnings to a
/// Findings.
namespace rest_fcgi::config {

/// Salt's master file, merged with all files that it includes.
struct MasterFile {
  Node root;
  std::vector<std::string> warnings;  ///< Warnings of one line each.
};

/// Reads the file `path`. Merges the files of its `default_include` and `include`, as Salt does. Errors:
/// configuration, if a file is unreadable, writable by every user, or not a map.
Result<MasterFile> read_master_file(const std::string& path);

[[nodiscard]] Settings read_settings(const Node& root, Findings& findings);

/// Returns the path without `.`, `..` and superfluous slashes, so that paths can be compared.
[[nodiscard]] std::string normal(const std::filesystem::path& path);

void read_salt_keys(Reader& top, Settings& settings);

/// Adds one warning that lists the keys in `root` that only a real master uses.
void warn_of_keys_of_masters(const Node& root, Findings& findings);

/// Reads `external_auth`. With the engine `salt`, ignores the settings of back ends, and only warns of
/// unknown rules. REQUIRES: the key `engine` was read.
void read_external_auth(Reader& top, Settings& settings);

/// The eauth back ends of the engine `embedded`.
inline constexpr std::string_view kOwnBackEnds[] = {"auto", "file", "pam", "sharedsecret"};

/// Returns the back ends with which users can log in. With the engine `salt`, these are all back ends.
/// REQUIRES: `external_auth` and `allow_auto_eauth` were read.
[[nodiscard]] std::vector<std::string> enabled_eauths(const Settings& settings);

/// Reads the keys of job caches. REQUIRES: the store's path is set.
void read_job_caches(Reader& top, Settings& settings);

/// Reads the `etcd.*` keys of Salt's etcd returner.
void read_etcd_returner(Reader& top, returner::EtcdOptions& options);

/// Marks all `etcd.*` keys as keys that take effect only at start, even if the keys are absent.
void note_etcd_returner(Reader& top, const returner::EtcdOptions& options);

/// Reads `rest_fcgi: state_dir`, the folder of the database, which replaces `cachedir` and STATE_DIRECTORY.
void read_state_dir(Reader& section, Reader& top, Settings& settings);

/// Reads `rest_fcgi: ext_job_cache`: the job cache of this program for the jobs of a real master. REQUIRES:
/// the key `engine` was read.
void read_recorded_jobs(Reader& section, Reader& top, Settings& settings);

/// Reads the keys of `rest_fcgi:` that the engine `salt` uses.
void read_salt_section(Reader& section, Settings& settings);

/// Returns the result of the wheel function `config.values`: the options that are not secret, and the options
/// of SaltGUI.
[[nodiscard]] Json config_values(const Settings& settings, const Node& master_file);

/// Reads `rest_fcgi: login_guard` and `pam_helper`. REQUIRES: the number of threads was read.
void read_logins(Reader& section, Settings& settings);

/// Reads `rest_fcgi: netapi`, `mount` and `trusted_proxies`, and the sections of the served modules.
void read_front_ends(Reader& section, Reader& top, Settings& settings);

/// Returns what the user can do if no port is open and no address for FastCGI is known. REQUIRES:
/// `settings.places` is set.
[[nodiscard]] std::string listening_advice(const Settings& settings);

/// Reads `rest_fcgi: embedded` and `host_number`. REQUIRES: all other sections were read.
void read_embedded_section(Reader& section, Settings& settings);

}  // namespace rest_fcgi::config
