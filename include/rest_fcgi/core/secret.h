// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rest_fcgi {

/// Overwrites memory in a way that the compiler does not remove.
void wipe(void* data, std::size_t size) noexcept;

/// Allocator that wipes memory before it frees it, also when a container grows. Stateless.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return std::allocator<T>().allocate(n); }
  void deallocate(T* data, std::size_t n) noexcept {
    wipe(data, n * sizeof(T));
    std::allocator<T>().deallocate(data, n);
  }
  /// Leaves elements of a resized vector uninitialized.
  template <class U>
  requires std::is_same_v<U, char>
  void construct(U* at) noexcept { ::new (static_cast<void*>(at)) U; }
  template <class U>
  bool operator==(const WipingAllocator<U>&) const noexcept {
    return true;
  }
};

/// Bytes that may contain a secret. A vector, since a string keeps short texts inside itself, where the
/// allocator does not wipe them.
using WipedBytes = std::vector<char, WipingAllocator<char>>;

/// Appends bytes without memcpy(3), which would leave copies in vector registers. REQUIRES: `bytes` do not
/// belong to `to`.
void append(WipedBytes& to, std::string_view bytes);

/// A secret that this object owns, such as a token. It is wiped on destruction, moves but does not copy
/// implicitly, and cannot be printed or formatted. Not synchronized.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string_view text) : bytes_(text.begin(), text.end()) {}
  Secret(Secret&&) noexcept = default;
  Secret& operator=(Secret&&) noexcept = default;
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() = default;

  [[nodiscard]] Secret copy() const { return Secret(reveal().text); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }

  /// A view of the text. The type forces the word `reveal` into each place that reads a secret.
  struct Revealed {
    std::string_view text;
  };
  [[nodiscard]] Revealed reveal() const noexcept { return {{bytes_.data(), bytes_.size()}}; }

 private:
  WipedBytes bytes_;
};

/// A view of a secret that another object owns and wipes, such as a password in a body. Cannot be printed.
class SecretView {
 public:
  SecretView() = default;
  explicit SecretView(std::string_view text) : text_(text) {}
  SecretView(const Secret& secret) : text_(secret.reveal().text) {}

  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::string_view reveal() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// Compares in a time that depends only on the lengths.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace rest_fcgi
