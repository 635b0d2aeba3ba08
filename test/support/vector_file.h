// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rest_fcgi::test {

inline std::filesystem::path vector_folder() {
  return std::filesystem::path(__FILE__).parent_path() / "../vectors";
}

/// Returns the content of a file in `test/vectors`. `test/vectors/README.md` describes the files.
inline std::string vector_file(std::string_view name) {
  const auto path = vector_folder() / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// The names of the files in `test/vectors` that have recorded bytes of real masters (*.bin).
inline const std::vector<std::string> kVectorFiles = [] {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(vector_folder(), ignored)) {
    if (entry.path().extension() == ".bin") names.push_back(entry.path().filename());
  }
  return names;
}();

/// Returns the data of the event in a file of `test/vectors`.
inline std::string event_data(std::string_view name) {
  const std::string frame = vector_file(name);
  return frame.substr(frame.find("\n\n") + 2);
}

}  // namespace rest_fcgi::test
