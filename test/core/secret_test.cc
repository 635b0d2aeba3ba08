// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/secret.h"

#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

using rest_fcgi::equal_in_constant_time;
using rest_fcgi::Secret;
using rest_fcgi::SecretView;

namespace {
template <class T, class = void>
struct IsPrintable : std::false_type {};
template <class T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<T>())>>
    : std::true_type {};
}  // namespace

static_assert(!IsPrintable<Secret>::value && !IsPrintable<SecretView>::value &&
              !IsPrintable<Secret::Revealed>::value);
static_assert(!std::is_convertible_v<SecretView, std::string_view> &&
              !std::is_convertible_v<Secret, std::string>);
static_assert(!std::is_copy_constructible_v<Secret> && std::is_nothrow_move_constructible_v<Secret>);

TEST_CASE("comparison in constant time compares") {
  CHECK(equal_in_constant_time("", ""));
  CHECK(equal_in_constant_time("abc", "abc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abd"));
  CHECK_FALSE(equal_in_constant_time("abc", "bbc"));
  CHECK_FALSE(equal_in_constant_time("abc", "abcd"));
  CHECK_FALSE(equal_in_constant_time(std::string_view("a\0b", 3), std::string_view("a\0c", 3)));
}
