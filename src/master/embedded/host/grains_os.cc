// SPDX-License-Identifier: MIT
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "master/embedded/host/grains.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

using OsRelease = std::map<std::string, std::string, std::less<>>;

struct Os {
  std::string_view id;  ///< `ID` of os-release
  std::string_view os;  ///< Salt's grain; empty: the distribution's own name will do
  std::string_view family;
};

/// Where Salt's names differ from the distribution's own ones.
constexpr std::array<Os, 22> kOs = {{
    {"debian", "Debian", "Debian"},
    {"ubuntu", "Ubuntu", "Debian"},
    {"raspbian", "Raspbian", "Debian"},
    {"devuan", "Devuan", "Debian"},
    {"kali", "Kali", "Debian"},
    {"linuxmint", "Mint", "Debian"},
    {"pop", "Pop", "Debian"},
    {"fedora", "Fedora", "RedHat"},
    {"rhel", "RedHat", "RedHat"},
    {"centos", "CentOS", "RedHat"},
    {"almalinux", "AlmaLinux", "RedHat"},
    {"rocky", "Rocky", "RedHat"},
    {"ol", "OEL", "RedHat"},
    {"amzn", "Amazon", "RedHat"},
    {"cloudlinux", "CloudLinux", "RedHat"},
    {"sles", "SUSE", "Suse"},
    {"suse", "SUSE", "Suse"},
    {"opensuse", "", "Suse"},
    {"opensuse-leap", "", "Suse"},
    {"opensuse-tumbleweed", "", "Suse"},
    {"arch", "Arch", "Arch"},
    {"manjaro", "Manjaro", "Arch"},
}};

const Os* known_os(std::string_view id) {
  for (const Os& os : kOs) {
    if (os.id == id) return &os;
  }
  return nullptr;
}

OsRelease parse_os_release(std::string_view text) {
  OsRelease values;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line[0] == '#') continue;
    std::string value = line.substr(equals + 1);
    if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0]) {
      value = value.substr(1, value.size() - 2);
    }
    values[line.substr(0, equals)] = value;
  }
  return values;
}

std::string value_of(const OsRelease& values, std::string_view key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

/// `NAME` without the words that say "Linux", as Salt shortens it.
std::string short_name(std::string name) {
  for (const std::string_view words : {" GNU/Linux", " Linux"}) {
    if (const std::size_t at = name.find(words); at != std::string::npos) name.erase(at, words.size());
  }
  return name;
}

/// The family of the distribution itself, or of the first one known that it says it is like.
std::string family_of(const OsRelease& values, std::string_view os) {
  std::istringstream ids(value_of(values, "ID") + " " + value_of(values, "ID_LIKE"));
  for (std::string id; ids >> id;) {
    if (const Os* known = known_os(id)) return std::string(known->family);
  }
  return std::string(os);
}

/// What stands in parentheses in `VERSION`, where there is no `VERSION_CODENAME`.
std::string codename_of(const OsRelease& values) {
  std::string name = value_of(values, "VERSION_CODENAME");
  if (!name.empty()) return name;
  const std::string version = value_of(values, "VERSION");
  const std::size_t open = version.find('(');
  const std::size_t close = version.find(')', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return {};
  return version.substr(open + 1, close - open - 1);
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

void write_release(JsonWriter& writer, std::string_view os, std::string_view full_name,
                   std::string_view release) {
  const std::string_view major = release.substr(0, release.find('.'));
  writer.key("osrelease").string(release);
  if (const auto number = whole_number(major)) writer.key("osmajorrelease").integer(*number);
  writer.key("osrelease_info").begin_array();
  std::istringstream parts{std::string(release)};
  for (std::string part; std::getline(parts, part, '.');) {
    if (const auto number = whole_number(part)) {
      writer.integer(*number);
    } else {
      writer.string(part);
    }
  }
  writer.end_array();
  const bool named_by_os = os == "Debian" || os == "Raspbian";
  const bool with_minor = os == "Ubuntu" || os == "Pop";
  writer.key("osfinger").string(format("{}-{}", named_by_os ? os : full_name, with_minor ? release : major));
}

}  // namespace

Json os_grains(std::string_view os_release) {
  const OsRelease values = parse_os_release(os_release);
  const std::string full_name = value_of(values, "NAME").empty() ? "Linux" : value_of(values, "NAME");
  const Os* known = known_os(value_of(values, "ID"));
  const std::string os =
      known != nullptr && !known->os.empty() ? std::string(known->os) : short_name(full_name);
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.key("os").string(os);
  writer.key("os_family").string(family_of(values, os));
  writer.key("osfullname").string(full_name);
  if (const std::string codename = codename_of(values); !codename.empty())
    writer.key("oscodename").string(codename);
  if (const std::string release = value_of(values, "VERSION_ID"); !release.empty()) {
    write_release(writer, os, full_name, release);
  }
  writer.end_object();
  return Json::trusted(std::move(text));
}

}  // namespace rest_fcgi::embedded
