// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rest_fcgi::auth {

using SipKey = std::array<std::uint64_t, 2>;

/// SipHash-2-4 (Aumasson and Bernstein, 2012): a quick hash that nobody without the key can aim at, for short
/// texts that strangers choose.
[[nodiscard]] std::uint64_t sip_hash(const SipKey& key, std::string_view text) noexcept;

}  // namespace rest_fcgi::auth
