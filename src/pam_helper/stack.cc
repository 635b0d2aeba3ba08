// SPDX-License-Identifier: MIT
#include "pam_helper/stack.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "rest_fcgi/auth/pam_wire.h"

namespace rest_fcgi::pam_helper {
namespace {

constexpr int kMaxDepth = 8;  // of files that include each other
constexpr const char* kShadow = "/etc/shadow";

/// The path of a service's file; absent where there is none.
std::optional<std::string> file_of(const std::string& service, const std::string& confdir) {
  const std::vector<std::string> places =
      confdir.empty() ? std::vector<std::string>{"/etc/pam.d", "/usr/lib/pam.d"} : std::vector{confdir};
  for (std::string path : places) {
    path.append("/").append(service);
    if (::access(path.c_str(), F_OK) == 0) return path;
  }
  return std::nullopt;
}

/// The service that a line of such a file takes in; empty where it takes in none.
std::string included_by(const std::string& line) {
  std::istringstream words(line);
  std::string first;
  std::string second;
  std::string third;
  words >> first >> second >> third;
  if (first == "@include") return second;
  return second == "include" || second == "substack" ? third : std::string();
}

bool uses_pam_unix(const std::string& service, const std::string& confdir, int depth = 0) {
  const auto path = file_of(service, confdir);
  if (!path || depth == kMaxDepth) return false;
  std::ifstream file(*path);
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find("pam_unix.so") != std::string::npos) return true;
    const std::string included = included_by(line);
    if (auth::pam::is_service(included) && uses_pam_unix(included, confdir, depth + 1)) return true;
  }
  return false;
}

/// pam_unix checks others' passwords only for who may read where they are.
bool may_check_others() {
  return ::geteuid() == 0 || ::access(kShadow, R_OK) == 0;
}

}  // namespace

std::string why_not(const std::string& service, const std::string& confdir) {
  const auto path = file_of(service, confdir);
  if (!path) {
    return "the PAM service " + service + " has no file in " + (confdir.empty() ? "/etc/pam.d" : confdir);
  }
  if (::access(path->c_str(), R_OK) != 0) return *path + " cannot be read by the helper";
  if (uses_pam_unix(service, confdir) && !may_check_others()) {
    return *path + " uses pam_unix, and the helper runs as user id " + std::to_string(::geteuid()) +
           ", which may not read " + kShadow +
           ": run it as root from a socket unit (pam_helper: unix:PATH), or give that user the group shadow";
  }
  return {};
}

}  // namespace rest_fcgi::pam_helper
