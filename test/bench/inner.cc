// SPDX-License-Identifier: MIT
// The inner parts by themselves: a lowstate list that is parsed and checked, and a master's returns that
// become JSON text. Sizes are the bytes that go in.
#define MSGPACK_NO_BOOST  // msgpack-cxx brings what it would use of it

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

/// A hundred chunks with arguments of many kinds, of `size` bytes in all.
std::string lowstate_list(std::size_t size) {
  constexpr int kChunks = 100;
  std::string text = "[";
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    if (chunk > 0) text += ", ";
    text +=
        R"({"client": "local", "tgt": "web-*", "fun": "state.apply", "eauth": "file", "username": "saltdev", )"
        R"("password": "saltdev", "kwarg": {"pillar": {"list": [)";
    const std::size_t end = size * static_cast<std::size_t>(chunk + 1) / kChunks;
    std::string_view comma;
    while (text.size() + 80 < end) {
      text.append(comma).append(R"({"name": "an entry of a list", "port": 8080, "on": true, "share": 0.25})");
      comma = ", ";
    }
    text += "]}}}";
  }
  return text + "]";
}

/// What a minion may return: packages with their versions.
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
