// SPDX-License-Identifier: MIT
// Benchmarks of the parser of lowstate lists, and of the conversion of minions' returns from msgpack to JSON.
// The size of a benchmark is the number of input bytes.
#define MSGPACK_NO_BOOST  // With MSGPACK_NO_BOOST, msgpack-cxx needs no Boost.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <msgpack.hpp>

#include "master/salt/packed/packed.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/lowstate/lowstate.h"

namespace {

using namespace rest_fcgi;

/// A chunk of the list has up to 10 kB and arguments of many kinds.
std::string lowstate_list(std::size_t size) {
  const std::size_t chunks = std::max<std::size_t>(size / 10'000, 1);
  std::string text = "[";
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    if (chunk > 0) text += ", ";
    text +=
        R"({"client": "local", "tgt": "web-*", "fun": "state.apply", "eauth": "file", "username": "saltdev", )"
        R"("password": "saltdev", "kwarg": {"pillar": {"list": [)";
    const std::size_t end = size * (chunk + 1) / chunks;
    std::string_view comma;
    while (text.size() + 140 < end) {
      text.append(comma).append(
          R"({"name": "an entry of a list, as long as the paths and names of a pillar often are", )"
          R"("port": 8080, "on": true, "share": 0.25})");
      comma = ", ";
    }
    text += "]}}}";
  }
  return text + "]";
}

std::string packed_return(std::size_t size) {
  msgpack::sbuffer buffer;
  msgpack::packer<msgpack::sbuffer> packer(buffer);
  const auto entries = static_cast<std::uint32_t>(size / 100);
  packer.pack_map(entries);
  for (std::uint32_t entry = 0; entry < entries; ++entry) {
    packer.pack("package-" + std::to_string(entry));
    packer.pack_map(4);
    for (const std::string_view text : {"version", "1.22.1-9+deb12u11", "arch", "amd64"}) packer.pack(text);
    packer.pack("size");
    packer.pack(entry * 4096U);
    packer.pack("description");
    packer.pack("one line of text about it");
  }
  return {buffer.data(), buffer.size()};
}

void count_bytes(benchmark::State& state, const std::string& input) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(input.size()));
}

void lowstate(benchmark::State& state) {
  const std::string text = lowstate_list(static_cast<std::size_t>(state.range(0)));
  lowstate::Options options;
  JsonDocument document;
  for (auto _ : state) {
    const bool parsed = document.parse(text, options.json).ok();
    const auto chunks = lowstate::read(document.root(), options);
    if (!parsed || !chunks) std::abort();
    benchmark::DoNotOptimize(chunks->data());
  }
  count_bytes(state, text);
}

void msgpack_to_json(benchmark::State& state) {
  const std::string packed = packed_return(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    std::string text;
    if (!salt::append_json(packed, text)) std::abort();
    benchmark::DoNotOptimize(text.data());
  }
  count_bytes(state, packed);
}

BENCHMARK(lowstate)->Name("lowstate")->RangeMultiplier(10)->Range(1000, 1'000'000);
BENCHMARK(msgpack_to_json)->Name("msgpack")->RangeMultiplier(10)->Range(1000, 1'000'000);

}  // namespace

BENCHMARK_MAIN();
