// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "auth/sip_hash.h"
#include "rest_fcgi/core/result.h"

namespace rest_fcgi::auth {

/// What processes share about failed logins. Each word stands for itself and is changed in one step, so that
/// a process which is killed at any point leaves nothing half done behind.
struct GuardWords {
  static constexpr std::size_t kSlots = 4096;
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::uint64_t));

  Word magic;  ///< set once the rest is good to use
  std::array<Word, 2> hash_key;
  Word active_until;  ///< Unix seconds after which nobody is counted any more
  std::array<Word, kSlots> slots;
};

/// Owns the mapping of `GuardWords`. Moves; the words synchronize themselves.
class GuardMemory {
 public:
  /// Memory of this process alone. Errors: internal.
  static Result<GuardMemory> alone();

  /// Memory shared with all processes of this user that open the same file; made where it is missing, for its
  /// owner alone. Errors: configuration, for a file that cannot be had, or that somebody else could write to.
  static Result<GuardMemory> shared(const std::string& path);

  [[nodiscard]] GuardWords& words() const noexcept { return *words_; }
  [[nodiscard]] SipKey hash_key() const noexcept { return {words_->hash_key[0], words_->hash_key[1]}; }

 private:
  struct Unmap {
    void operator()(GuardWords* words) const noexcept;
  };
  explicit GuardMemory(GuardWords* words) : words_(words) {}
  static Result<GuardMemory> map(int fd);

  std::unique_ptr<GuardWords, Unmap> words_;
};

}  // namespace rest_fcgi::auth
