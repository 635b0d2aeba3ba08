// SPDX-License-Identifier: MIT
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "master/embedded/host/file_systems.h"
#include "master/embedded/modules/replies.h"
#include "master/embedded/python/python.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

/// Flags are df's; those that change its columns are left to df.
std::optional<Raised> check_flags(const JsonValue& flags, std::string_view caller) {
  constexpr std::string_view salts = "aBhHiklPtTxv";
  constexpr std::string_view ours = "kPv";
  std::string letters;
  if (flags.is(JsonValue::Kind::array)) {
    for (const JsonValue flag : flags.elements()) letters += flag.text().size() == 1 ? flag.text() : "?";
  } else {
    letters = flags.text();
  }
  for (const char letter : letters) {
    if (salts.find(letter) == std::string_view::npos) {
      return command_error(format("Invalid flag passed to {}", caller));
    }
    if (ours.find(letter) == std::string_view::npos) {
      return command_error(
          format("{}: found the flag {}, of df's flags only k, P and v are known here", caller, letter));
    }
  }
  return std::nullopt;
}

void write_usage(JsonWriter& writer, const FileSystem& system) {
  writer.key(system.mount.point).begin_object();
  writer.key("filesystem").string(system.mount.device);
  writer.key("1K-blocks").string(std::to_string(system.kib));
  writer.key("used").string(std::to_string(system.used_kib));
  writer.key("available").string(std::to_string(system.available_kib));
  writer.key("capacity").string(percent_of(system.used_kib, system.available_kib));
  writer.end_object();
}

void write_inodes(JsonWriter& writer, const FileSystem& system) {
  writer.key(system.mount.point).begin_object();
  writer.key("inodes").string(std::to_string(system.inodes));
  writer.key("used").string(std::to_string(system.inodes - system.free_inodes));
  writer.key("free").string(std::to_string(system.free_inodes));
  writer.key("use").string(percent_of(system.inodes - system.free_inodes, system.free_inodes));
  writer.key("filesystem").string(system.mount.device);
  writer.end_object();
}

Reply of_all(void (*write)(JsonWriter&, const FileSystem&)) {
  const std::vector<FileSystem> systems = host_file_systems();
  return written([&](JsonWriter& writer) {
    writer.begin_object();
    for (const FileSystem& system : systems) write(writer, system);
    writer.end_object();
  });
}

Reply usage(const Call& call) {
  if (auto raised = check_flags(call.arguments[0], "disk.usage")) return *std::move(raised);
  return of_all(write_usage);
}

Reply inodeusage(const Call& call) {
  if (auto raised = check_flags(call.arguments[0], "disk.inodeusage")) return *std::move(raised);
  return of_all(write_inodes);
}

Reply percent(const Call& call) {
  const JsonValue& point = call.arguments[0];
  if (!python_bool(point)) {
    return of_all([](JsonWriter& writer, const FileSystem& system) {
      writer.key(system.mount.point).string(percent_of(system.used_kib, system.available_kib));
    });
  }
  for (const FileSystem& system : host_file_systems()) {
    if (system.mount.point == point.text()) {
      return Returned{Json::string(percent_of(system.used_kib, system.available_kib))};
    }
  }
  return Returned{Json::empty_object()};
}

// All may wait for a file system whose server does not answer.
constexpr std::array kFunctions = {
    Function{.name = "disk.inodeusage",
             .python_name = "inodeusage",
             .parameters = {{{"args", "null"}}},
             .summary = "Return how many inodes the mounted file systems have and use.",
             .example = "disk.inodeusage",
             .quick = false,
             .run = inodeusage},
    Function{.name = "disk.percent",
             .python_name = "percent",
             .parameters = {{{"args", "null"}}},
             .summary = "Return how full the mounted file systems are, or the one at that path.",
             .example = "disk.percent\ndisk.percent /var",
             .quick = false,
             .run = percent},
    Function{.name = "disk.usage",
             .python_name = "usage",
             .parameters = {{{"args", "null"}}},
             .summary = "Return size and use of the mounted file systems, in units of 1024 bytes.",
             .example = "disk.usage",
             .quick = false,
             .run = usage},
};

}  // namespace

std::span<const Function> disk_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
