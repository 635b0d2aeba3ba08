// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rest_fcgi {

/// Overwrites memory. The compiler cannot remove the call.
void wipe(void* data, std::size_t size) noexcept;

/// An allocator that wipes memory before freeing it.
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
  template <class U>
  requires std::is_same_v<U, char>
  void construct(U* at) noexcept { ::new (static_cast<void*>(at)) U; }
  template <class U>
  bool operator==(const WipingAllocator<U>&) const noexcept {
    return true;
  }
};

/// Bytes that may contain a secret. A std::vector keeps all bytes in memory that the allocator wipes. A
/// std::string would keep short texts inside the object, which no allocator wipes.
using WipedBytes = std::vector<char, WipingAllocator<char>>;

/// Appends bytes without memcpy(3), which leaves copies in vector registers. REQUIRES: `bytes` is not a part
/// of `to`.
void append(WipedBytes& to, std::string_view bytes);

/// Owns a secret such as a token, and wipes the secret on destruction. A Secret cannot be printed, and only
/// `copy` copies it. A Secret is not thread-safe.
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

  /// A view of the secret's text.
  struct Revealed {
    std::string_view text;
  };
  [[nodiscard]] Revealed reveal() const noexcept { return {{bytes_.data(), bytes_.size()}}; }

 private:
  WipedBytes bytes_;
};

/// A view of a secret that another object owns and wipes, such as a password in a request's body.
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

/// Compares two texts in a time that depends only on their lengths.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace rest_fcgi
