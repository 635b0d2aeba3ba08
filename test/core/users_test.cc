// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/users.h"

#include <dlfcn.h>
#include <grp.h>

#include <algorithm>
#include <functional>
#include <vector>

#include <doctest/doctest.h>

namespace {

using Answer = std::function<int(gid_t own, gid_t* groups, int* count)>;

/// Returns the replacement for getgrouplist(3). If the replacement is empty, the real function is called.
Answer& pretended() {
  static Answer answer;
  return answer;
}

}  // namespace

extern "C" int getgrouplist(const char* user, gid_t own, gid_t* groups, int* count) {
  if (pretended()) return pretended()(own, groups, count);
  static const auto real = reinterpret_cast<decltype(&getgrouplist)>(::dlsym(RTLD_NEXT, "getgrouplist"));
  return real(user, own, groups, count);
}

namespace rest_fcgi {
namespace {

const Account kFred{"fred", 1000, 1000, "/home/fred", "/bin/sh"};

std::vector<gid_t> groups_where(Answer answer) {
  pretended() = std::move(answer);
  std::vector<gid_t> groups = groups_of(kFred);
  pretended() = nullptr;
  return groups;
}

Answer in_groups(int many) {
  return [many](gid_t own, gid_t* groups, int* count) {
    for (int i = 0; i < std::min(many, *count); ++i) groups[i] = own + static_cast<gid_t>(i);
    const bool fits = many <= *count;
    *count = many;
    return fits ? many : -1;
  };
}

}  // namespace

TEST_CASE("groups_of returns any number of groups") {
  for (const int many : {1, 64, 65, 5000}) {
    const auto groups = groups_where(in_groups(many));
    CHECK(groups.size() == static_cast<std::size_t>(many));
    CHECK(groups.front() == 1000);
    CHECK(groups.back() == 1000 + static_cast<gid_t>(many) - 1);
  }
}

TEST_CASE("groups_of returns only the primary group if the lookup fails") {
  const std::vector<gid_t> own_alone{1000};
  CHECK(groups_where([](gid_t, gid_t*, int*) { return -1; }) == own_alone);
  CHECK(groups_where(in_groups(65537)) == own_alone);
}

}  // namespace rest_fcgi
