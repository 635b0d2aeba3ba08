// SPDX-License-Identifier: MIT
#include "master/embedded/host/host_names.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "master/embedded/host/host_text.h"

namespace rest_fcgi::embedded {
namespace {

/// A line of the file: an address, then names. Fewer than two words: nothing.
std::vector<std::string_view> words_on(std::string_view line) {
  return words_of(line.substr(0, line.find('#')));
}

bool names(const std::vector<std::string_view>& words, std::string_view name) {
  return words.size() > 1 && std::find(words.begin() + 1, words.end(), name) != words.end();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

HostNames names_in(std::string_view hosts, std::string_view hostname) {
  std::optional<std::string> fqdn;
  for (const std::string_view line : lines_of(hosts)) {
    const auto words = words_on(line);
    if (!fqdn && names(words, hostname)) fqdn = words[1];
  }
  HostNames found{fqdn.value_or(std::string(hostname)), {}};
  std::set<IpAddress> addresses;
  for (const std::string_view line : lines_of(hosts)) {
    const auto words = words_on(line);
    if (!names(words, found.fqdn)) continue;
    if (const auto address = IpAddress::parse(words[0])) addresses.insert(*address);
  }
  found.addresses.assign(addresses.begin(), addresses.end());
  return found;
}

HostNames host_names() {
  return names_in(read_text("/etc/hosts").value_or(""), host_name());
}

}  // namespace rest_fcgi::embedded
