// SPDX-License-Identifier: MIT
#include "lowstate/function_name.h"

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::lowstate {
namespace {

constexpr std::size_t kMaxName = 255;

}  // namespace

std::string_view read_function_name(ChunkReader& reader, JsonValue fun) {
  if (!fun.is(JsonValue::Kind::string)) {
    reader.refuse("fun", "the name of a function", fun);
  } else if (fun.text().empty()) {
    reader.complain("'fun' is empty; it must be the name of a function.");
  } else if (fun.text().size() > kMaxName) {
    reader.complain(
        format("'fun' has {} bytes; the name of a function has at most {}.", fun.text().size(), kMaxName));
  }
  return fun.text();
}

}  // namespace rest_fcgi::lowstate
