// SPDX-License-Identifier: MIT
// The entry points of libFuzzer. The environment variable FUZZ_TARGET selects a fuzz target. Without
// FUZZ_TARGET, the program prints the name of each target and the size of its largest input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "rest_fcgi/core/log.h"
#include "targets.h"

namespace {

const rest_fcgi::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* name = std::getenv("FUZZ_TARGET");
  for (const auto& target : rest_fcgi::fuzz::kTargets) {
    if (name == nullptr) std::cout << target.name << ' ' << target.most << '\n';
    if (name != nullptr && target.name == name) chosen = &target;
  }
  if (name == nullptr) std::exit(EXIT_SUCCESS);
  if (chosen == nullptr) {
    std::cerr << "FUZZ_TARGET has to name a target of test/fuzz/targets.h\n";
    std::exit(EXIT_FAILURE);
  }
  static_cast<void>(
      rest_fcgi::log::open({.level = rest_fcgi::log::Level::off, .file = {}, .audit_file = {}}));
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
