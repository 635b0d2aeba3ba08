// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/config/config.h"

namespace rest_fcgi::config {

/// A directory with a master file and other files for a test. Not synchronized.
class ConfigDir {
 public:
  explicit ConfigDir(std::string_view master) { dir_.write("master", master); }

  ConfigDir& with(const std::string& name, std::string_view content) {
    std::filesystem::create_directories((dir_.path() / name).parent_path());
    dir_.write(name, content);
    return *this;
  }

  [[nodiscard]] std::string operator/(std::string_view name) const { return dir_ / name; }
  [[nodiscard]] std::string path() const { return dir_.path().string(); }
  [[nodiscard]] Result<Settings> load() const { return config::load(command_line()); }

  [[nodiscard]] CommandLine command_line() const {
    CommandLine command_line;
    command_line.config = dir_ / "master";
    return command_line;
  }

  [[nodiscard]] std::string without_dir(std::string text) const {
    const std::string prefix = path() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
      text.erase(at, prefix.size());
    }
    return text;
  }

  /// Returns the error message without the directory name, or an empty text for a valid configuration.
  [[nodiscard]] std::string error() const {
    const auto settings = load();
    return settings ? "" : without_dir(settings.error().message);
  }

 private:
  test::TempDir dir_;
};

inline Settings settings_of(std::string_view master) {
  auto settings = ConfigDir(master).load();
  if (!settings) throw std::runtime_error(settings.error().message);
  return *std::move(settings);
}

/// Returns the warnings about a valid master file, without the directory name.
inline std::vector<std::string> warnings_of(std::string_view master) {
  const ConfigDir dir(master);
  const auto settings = *dir.load();
  std::vector<std::string> warnings;
  for (const std::string& warning : settings.warnings) warnings.push_back(dir.without_dir(warning));
  return warnings;
}

/// Checks that a valid master file gives one warning, and returns this warning.
inline std::string warning_of(std::string_view master) {
  const std::vector<std::string> warnings = warnings_of(master);
  REQUIRE(warnings.size() == 1);
  return warnings[0];
}

inline std::string error_of(std::string_view master) {
  return ConfigDir(master).error();
}

/// Checks that a message begins with `beginning`, which names file, line and key, and contains the `facts`.
inline void check_message(const std::string& message, std::string_view beginning,
                          std::initializer_list<std::string_view> facts = {}) {
  CAPTURE(message);
  CAPTURE(beginning);
  CHECK(message.starts_with(beginning));
  for (const std::string_view fact : facts) {
    CAPTURE(fact);
    CHECK(message.find(fact) != std::string::npos);
  }
}

}  // namespace rest_fcgi::config
