// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/users.h"

#include <dlfcn.h>
#include <grp.h>

#include <algorithm>

#include <doctest/doctest.h>

namespace {

/// The number of groups that the replaced getgrouplist(3) returns. With 0, the real function is called.
int pretended_groups = 0;

}  // namespace

extern "C" int getgrouplist(const char* user, gid_t own, gid_t* groups, int* count) {
  if (pretended_groups == 0) {
    static const auto real = reinterpret_cast<decltype(&getgrouplist)>(::dlsym(RTLD_NEXT, "getgrouplist"));
    return real(user, own, groups, count);
  }
  for (int i = 0; i < std::min(pretended_groups, *count); ++i) groups[i] = own + static_cast<gid_t>(i);
  const bool fits = pretended_groups <= *count;
  *count = pretended_groups;
  return fits ? pretended_groups : -1;
}

namespace rest_fcgi {

TEST_CASE("groups_of returns up to 65,536 groups, and only the primary group of a user in more groups") {
  for (const int many : {1, 64, 65, 5000, 65537}) {
    CAPTURE(many);
    pretended_groups = many;
    const auto groups = groups_of({"fred", 1000, 1000, "/home/fred", "/bin/sh"});
    pretended_groups = 0;
    const int expected = many > 65536 ? 1 : many;
    REQUIRE(groups.size() == static_cast<std::size_t>(expected));
    CHECK(groups.front() == 1000);
    CHECK(groups.back() == 1000 + static_cast<gid_t>(expected) - 1);
  }
}

}  // namespace rest_fcgi
