// SPDX-License-Identifier: MIT
#include "master/embedded/modules/service_units.h"

#include <cctype>
#include <filesystem>
#include <system_error>
#include <vector>

#include "master/embedded/modules/which.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::embedded {
namespace {

namespace fs = std::filesystem;

/// The names in a folder; none where it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  return names;
}

/// `S`, at most two digits, and the name of the service.
bool starts_service(std::string_view link, std::string_view name) {
  if (!link.starts_with('S')) return false;
  link.remove_prefix(1);
  for (int digits = 0; digits < 2 && !link.empty(); ++digits) {
    if (std::isdigit(static_cast<unsigned char>(link.front())) == 0) break;
    link.remove_prefix(1);
  }
  return link == name;
}

}  // namespace

std::set<std::string> systemd_services(const Systemctl& systemctl) {
  std::set<std::string> services;
  for (const std::string_view folder :
       {"/lib/systemd/system", "/usr/lib/systemd/system", "/etc/systemd/system"}) {
    for (const std::string& name : names_in(systemctl.path(folder))) {
      if (auto service = service_name(name)) services.insert(*std::move(service));
    }
  }
  return services;
}

std::set<std::string> sysv_services(const Systemctl& systemctl) {
  const std::set<std::string> known = systemd_services(systemctl);
  const std::string folder = systemctl.path("/etc/init.d");
  std::set<std::string> services;
  for (const std::string& name : names_in(folder)) {
    if (known.count(name) == 0 && is_executable(format("{}/{}", folder, name))) services.insert(name);
  }
  return services;
}

bool is_sysv_enabled(const Systemctl& systemctl, const std::string& name) {
  for (const std::string_view folder : {"/etc/rc2.d", "/etc/rc3.d", "/etc/rc4.d", "/etc/rc5.d"}) {
    for (const std::string& link : names_in(systemctl.path(folder))) {
      if (starts_service(link, name)) return true;
    }
  }
  return false;
}

bool is_masked(const Systemctl& systemctl, const std::string& unit, bool runtime) {
  std::error_code error;
  const std::string link = systemctl.path(runtime ? "/run" : "/etc") + "/systemd/system/" + unit;
  return fs::read_symlink(link, error) == "/dev/null";
}

}  // namespace rest_fcgi::embedded
