// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "netapi/replies.h"
#include "rest_fcgi/http/url.h"
#include "rest_fcgi/netapi/rest.h"

namespace rest_fcgi::netapi {
namespace {

bool is_below(std::string_view path, std::string_view mount) {
  if (mount == "/") return true;
  return path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/');
}

http::Response pass_on(const std::vector<Mount>& mounts, const http::Environ& environ) {
  http::Path path = http::path_of(environ);
  const auto found = std::find_if(mounts.begin(), mounts.end(),
                                  [&](const Mount& mount) { return is_below(path.below, mount.path); });
  if (found == mounts.end()) return status_reply(http::Status::not_found, "Not Found");
  if (found->path == "/") return found->application(environ);
  http::Environ moved = environ;
  moved.set("SCRIPT_NAME", path.above + found->path);
  path.below.erase(0, found->path.size());
  moved.set("PATH_INFO", path.below.empty() ? "/" : path.below);
  return found->application(moved);
}

}  // namespace

http::Application mount(std::vector<Mount> mounts) {
  if (mounts.size() == 1 && mounts.front().path == "/") return std::move(mounts.front().application);
  std::sort(mounts.begin(), mounts.end(),
            [](const Mount& a, const Mount& b) { return a.path.size() > b.path.size(); });
  return [mounts = std::make_shared<const std::vector<Mount>>(std::move(mounts))](
             const http::Environ& environ) { return pass_on(*mounts, environ); };
}

}  // namespace rest_fcgi::netapi
