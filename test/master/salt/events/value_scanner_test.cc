// SPDX-License-Identifier: MIT
#include "master/salt/events/value_scanner.h"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

using namespace rest_fcgi;
using namespace rest_fcgi::salt;
using namespace std::string_view_literals;

constexpr std::size_t kMost = 1000;

/// "size N" of the value at the front of `bytes`, which come one after the other; else what is wrong.
std::string scanned(std::string_view bytes) {
  ValueScanner scanner(kMost);
  for (std::size_t came = 0; came <= bytes.size(); ++came) {
    const auto whole = scanner.scan(bytes.substr(0, came));
    if (!whole) return whole.error().message;
    if (*whole) return "size " + std::to_string(scanner.size());
  }
  return "incomplete";
}

std::string filled(std::string_view header, std::size_t payload) {
  return std::string(header) + std::string(payload, '\xc1');
}

TEST_CASE("the end of a value of any of msgpack's forms is found") {
  for (const char first : "\x00\x7f\xe0\xff\xc0\xc2\xc3"sv) CHECK(scanned(std::string(1, first)) == "size 1");
  CHECK(scanned(filled("\xa3", 3)) == "size 4");
  CHECK(scanned(filled("\xbf", 31)) == "size 32");
  for (const std::string_view header : {"\xc4\x05"sv, "\xd9\x05"sv})
    CHECK(scanned(filled(header, 5)) == "size 7");
  for (const std::string_view header : {"\xc5\x01\x00"sv, "\xda\x01\x00"sv}) {
    CHECK(scanned(filled(header, 256)) == "size 259");
  }
  for (const std::string_view header : {"\xc6\x00\x00\x01\x01"sv, "\xdb\x00\x00\x01\x01"sv}) {
    CHECK(scanned(filled(header, 257)) == "size 262");
  }
  CHECK(scanned(filled("\xc7\x03"sv, 4)) == "size 6");
  CHECK(scanned(filled("\xc8\x00\x03"sv, 4)) == "size 7");
  CHECK(scanned(filled("\xc9\x00\x00\x00\x03"sv, 4)) == "size 9");
  const std::size_t fixed[] = {4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17};  // from 0xca on
  char first = '\xca';
  for (const std::size_t payload : fixed) {
    CHECK(scanned(filled({&first, 1}, payload)) == "size " + std::to_string(payload + 1));
    ++first;
  }
}

TEST_CASE("what a value holds belongs to it, and what follows it does not") {
  CHECK(scanned("\x80\x01"sv) == "size 1");
  CHECK(scanned("\x92\x01\xa1x\x01"sv) == "size 4");
  CHECK(scanned("\x82\xa1x\x91\xc0\xa1y\x90\xa1z"sv) == "size 8");
  CHECK(scanned("\xdc\x00\x02\x01\x02"sv) == "size 5");
  CHECK(scanned("\xdd\x00\x00\x00\x02\x01\x02"sv) == "size 7");
  CHECK(scanned("\xde\x00\x01\x01\x02"sv) == "size 5");
  CHECK(scanned("\xdf\x00\x00\x00\x01\x01\x02"sv) == "size 7");
}

TEST_CASE("a value that is cut short is incomplete, wherever it is cut") {
  const std::string_view whole = "\x82\xa1x\x92\xcd\x01\x00\xd9\x02zz\xa1y\xc5\x00\x01q"sv;
  CHECK(scanned(whole) == "size " + std::to_string(whole.size()));
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK(scanned(whole.substr(0, size)) == "incomplete");
}

TEST_CASE("the one byte that starts no value is named, with its place") {
  CHECK(scanned("\xc1"sv) == "the byte 0xc1 at offset 0, which starts no msgpack value");
  CHECK(scanned("\x92\x01\xc1"sv) == "the byte 0xc1 at offset 2, which starts no msgpack value");
}

TEST_CASE("values are nested to a limit") {
  const std::string deepest(ValueScanner::kMaxDepth - 1, '\x91');
  CHECK(scanned(deepest + '\x01') == "size " + std::to_string(deepest.size() + 1));
  CHECK(scanned(deepest + '\x91') == "values nested deeper than 32");
  CHECK(scanned(deepest + '\x90') == "size " + std::to_string(deepest.size() + 1));
}

TEST_CASE("a length or count that cannot be within the limit is refused when it is announced") {
  for (const std::string_view bytes :
       {"\xdb\xff\xff\xff\xff"sv, "\xc6\x00\x00\x03\xe4"sv, "\xdd\xff\xff\xff\xff"sv,
        "\xdf\xff\xff\xff\xff"sv, "\xdc\x03\xe6"sv, "\xde\x01\xf3"sv, "\x92\xc5\x03\xe8"sv}) {
    CHECK(scanned(bytes) == "more than the 1000 bytes that are accepted");
  }
  CHECK(scanned(filled("\xc6\x00\x00\x03\xe3"sv, 995)) == "size 1000");
}

}  // namespace
