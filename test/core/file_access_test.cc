// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "../support/temp_dir.h"
#include "rest_fcgi/core/access.h"
#include "rest_fcgi/core/files.h"

namespace rest_fcgi {
namespace {

TEST_CASE("why_unreadable returns the system's reason and missing permissions") {
  const test::TempDir dir;
  const std::string file = dir.write("m", "");
  CHECK(why_unreadable(file, ENOENT) == errno_text(ENOENT));
  CHECK(why_unreadable(file, EACCES)
            .starts_with("Permission denied: no permission to read " + file + ", which has mode "));
  CHECK(why_unreadable(file, EACCES).ends_with(" needs the permission r"));
  CHECK(why_unreadable(dir.path(), EACCES).ends_with(" needs the permission rx"));
  CHECK(why_unreadable(dir / "no/such", EACCES)
            .starts_with("Permission denied: no permission to search the folder " + dir.path().string()));
}

}  // namespace
}  // namespace rest_fcgi
