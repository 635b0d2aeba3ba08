// SPDX-License-Identifier: MIT
#include "rest_fcgi/returner/watch.h"

#include <doctest/doctest.h>

#include "caches.h"

namespace rest_fcgi::returner {
namespace {

struct NobodyHears : ClusterListener {
  bool wanted() override { return false; }
  void job(const Load&) override {}
  void returned(const Load&, const JobReturn&) override {}
  void event(std::string_view, const Json&, std::string_view) override {}
  void lost(const std::string&) override {}
};

}  // namespace

TEST_CASE("a job cache that no other host has is not watched") {
  NobodyHears nobody;
  const test::ManualClock clock;
  const auto watch = make_memory_returner({}, clock)->watch(nobody);
  REQUIRE(watch);
  CHECK(*watch == nullptr);
}

}  // namespace rest_fcgi::returner
