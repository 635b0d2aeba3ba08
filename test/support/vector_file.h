// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rest_fcgi::test {

inline constexpr std::array<std::string_view, 25> kVectorFiles = {
    "01-ping-request.bin",
    "02-ping-reply.bin",
    "03-publish-request.bin",
    "04-publish-reply.bin",
    "05-event-minions.bin",
    "06-event-job-new.bin",
    "07-event-job-ret.bin",
    "08-publish-reply-no-match.bin",
    "09-publish-reply-missing.bin",
    "10-publish-reply-auth-error.bin",
    "11-publish-reply-authz-error.bin",
    "12-runner-request.bin",
    "13-runner-reply.bin",
    "14-event-run-ret.bin",
    "15-runner-reply-not-authorized.bin",
    "16-wheel-request.bin",
    "17-wheel-reply.bin",
    "18-mk_token-reply.bin",
    "19-reply-bad-load-map.bin",
    "20-reply-bad-load-str.bin",
    "21-reply-exception-str.bin",
    "22-event-ret-odd-types.bin",
    "23-event-ret-compound.bin",
    "24-stream-3006.28.bin",
    "25-stream-3008.3.bin",
};

/// Returns the content of a file in `test/vectors`. `test/vectors/README.md` describes the files.
inline std::string vector_file(std::string_view name) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../vectors" / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// Reads a file of `test/vectors` that contains one event of a master's event bus. Returns the data of the
/// event.
inline std::string event_data(std::string_view name) {
  const std::string frame = vector_file(name);
  return frame.substr(frame.find("\n\n") + 2);
}

}  // namespace rest_fcgi::test
