// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/reader.h"
#include "rest_fcgi/auth/options.h"
#include "rest_fcgi/config/config.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/master/embedded/options.h"
#include "rest_fcgi/master/salt/options.h"

/// Parts of the master file into options. What is wrong, and what looks like an oversight, goes to the
/// reader's findings.
namespace rest_fcgi::config {

/// What is accepted where a host is named.
inline constexpr std::string_view kHostExpected =
    "an address such as 192.0.2.7 or ::1, or a name that has one";

/// Salt's master file with all that it includes, as one map.
struct MasterFile {
  Node root;                          ///< a map
  std::vector<std::string> warnings;  ///< one line each
};

/// Reads `path`, then what its `default_include` and its `include` name, merged as Salt merges them.
/// Errors: configuration, for a file that cannot be read, that others may write to, or that is no map in
/// YAML.
[[nodiscard]] Result<MasterFile> read_master_file(const std::string& path);

/// Reads all sections of the master file. Mistakes and warnings go to `findings`.
[[nodiscard]] Settings read_settings(const Node& root, Findings& findings);

/// A path as it is compared with others: without `.`, `..` and slashes that change nothing.
[[nodiscard]] std::string normal(const std::filesystem::path& path);

/// Salt's own keys, those that mean something here.
void read_salt_keys(Reader& top, Settings& settings);

/// Salt's `external_auth`. With the engine `salt` it is the master's: back ends' settings are not read, and a
/// rule that cannot be read is left out with a warning. REQUIRES: the engine was read.
void read_external_auth(Reader& top, Settings& settings);

/// The job caches. REQUIRES: the store's path is set.
void read_job_caches(Reader& top, Settings& settings);

/// Reads Salt's `etcd.*` keys of the returner.
void read_etcd_returner(Reader& top, returner::EtcdOptions& options);

/// Its keys take effect at start only; also where they say nothing.
void note_etcd_returner(Reader& top, const returner::EtcdOptions& options);

/// `rest_fcgi: ext_job_cache`: where jobs that a real master keeps are kept as well. REQUIRES: the engine was
/// read.
void read_recorded_jobs(Reader& section, Reader& top, Settings& settings);

/// Notes, with file and line, about back ends, users and rules of `external_auth` that can match nothing.
[[nodiscard]] std::vector<std::string> rule_notes(const Settings& settings);

/// Of our section what is for the engine `salt`.
void read_salt_section(Reader& section, Settings& settings);

/// What the wheel `config.values` shows: an object with the effective options that are no secret, and
/// SaltGUI's options of the master file.
[[nodiscard]] Json config_values(const Settings& settings, const Node& master_file);

/// Of our section what is about logins: the guard against guessing, the helper for PAM. REQUIRES: the number
/// of threads was read.
void read_logins(Reader& section, Settings& settings);

/// `rest_fcgi: netapi` and `mount`, and the sections of the modules that they name.
void read_front_ends(Reader& section, Reader& top, Settings& settings);

/// `rest_fcgi: embedded:` and `host_number`. REQUIRES: all else was read.
void read_embedded_section(Reader& section, Settings& settings);

}  // namespace rest_fcgi::config
