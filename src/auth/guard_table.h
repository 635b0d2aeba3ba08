// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "auth/digest.h"
#include "rest_fcgi/core/clock.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// What counts as one address: an IPv4 address, or the 64-bit network of an IPv6 address, which its owner can
/// fill as they like. One that stands for an IPv4 address (::ffff:0:0/96, and 64:ff9b::/96 of NAT64) is that
/// one. A text that is no address stands for itself.
[[nodiscard]] std::string network_of(std::string_view remote);

/// The 48-bit network of an IPv6 address, which is what one customer may have of such networks; empty for all
/// others.
[[nodiscard]] std::string site_of(std::string_view remote);

/// What processes share about failed logins. Each word stands for itself and is changed in one step, so that
/// a process which is killed at any point leaves nothing half done behind.
struct GuardWords {
  static constexpr std::size_t kSlots = std::size_t{1} << 17;
  static constexpr std::size_t kKnown = std::size_t{1} << 14;
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint64_t));

  Word magic;                    ///< set once the rest is good to use
  std::array<Word, 2> hash_key;  ///< for whoever shares the words, see `GuardMemory::digest`
  Word active_until;             ///< Unix seconds after which nobody is counted any more
  Word refusals;  ///< a Unix second, and in the last 16 bits how many that were refused in it wait
  Word latest;    ///< microsecond of Unix time: the latest that anybody saw, see `NeverBack`
  std::array<Word, kSlots> slots;
  std::array<Word, kKnown> known;  ///< who logged in from where
};

/// Owns the mapping of `GuardWords`. Moves; the words synchronize themselves.
class GuardMemory {
 public:
  /// Memory of this process alone. Errors: internal.
  static Result<GuardMemory> alone();

  /// Memory shared with all processes of this user that open the same file; made where it is missing, for its
  /// owner alone. In a folder of our own, which is made where it is missing, nobody else can put a file in
  /// its place. A table of another version, and whatever else lies in our own folder, gives way to a new one,
  /// and the log says so: who has it still maps the old one. Errors: configuration, for a file or folder that
  /// cannot be had, or that somebody else could write to, or that is something else.
  enum class Folder { any, own };
  static Result<GuardMemory> shared(const std::string& path, Folder folder = Folder::any);

  /// `GuardWords::latest` of the table in a file, which stays as it is. Errors: configuration, for a file
  /// that is not there, or is no table of this version, or that `shared` would not use.
  static Result<std::uint64_t> latest_in(const std::string& path);

  [[nodiscard]] GuardWords& words() const noexcept { return *words_; }

  /// What keys of the table are made with: all who share the words make the same ones.
  [[nodiscard]] const KeyedDigest& digest() const noexcept { return digest_; }

 private:
  struct Unmap {
    void operator()(GuardWords* words) const noexcept;
  };
  using Words = std::unique_ptr<GuardWords, Unmap>;
  GuardMemory(Words words, KeyedDigest digest) : words_(std::move(words)), digest_(std::move(digest)) {}
  static Result<GuardMemory> map(int fd);
  static Result<GuardMemory> map_locked(int fd, const std::string& path);
  static Result<GuardMemory> open_in(int folder, const std::string& name, const std::string& path,
                                     Folder kind);

  Words words_;
  KeyedDigest digest_;
};

/// Failed tries by key, in a bounded table. A key is a keyed hash: a stranger can neither find two keys that
/// meet in one slot nor aim at somebody's. Where there is no room, the entry that says least goes: one whose
/// time is over, else the one with the fewest failures, and of these the oldest. So a flood of new keys
/// cannot wash away the one that was tried most. Without locks; thread-safe, and safe between processes.
class GuardTable {
 public:
  using Key = std::uint64_t;

  /// Failures in `window`, counted from the first, until a key is refused, and for how long then.
  struct Limit {
    unsigned tries;
    std::chrono::seconds window;
    std::chrono::seconds refuse;
  };

  struct Count {
    unsigned failures = 0;
    std::chrono::seconds refused_for{0};  ///< 0: is not refused
  };

  /// `words` have to outlive the table.
  explicit GuardTable(std::span<GuardWords::Word> words) : words_(words) {}

  [[nodiscard]] Count find(Key key, const Limit& limit, WallTime now) const;

  /// One failure more; what there are now. One that is refused already stays as it is.
  Count add(Key key, const Limit& limit, WallTime now);

  void forget(Key key);

  static constexpr std::size_t kWays = 8;  ///< slots that a key can be in
  static constexpr unsigned kMostFailures = 4095;

 private:
  [[nodiscard]] std::span<GuardWords::Word> ways_of(Key key) const;

  std::span<GuardWords::Word> words_;
};

}  // namespace rest_fcgi::auth
