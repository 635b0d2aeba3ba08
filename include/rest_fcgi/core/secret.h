// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rest_fcgi {

/// Overwrites `size` bytes in a way that the compiler keeps.
void wipe(void* data, std::size_t size) noexcept;

/// Allocator that wipes memory before it gives it back, also when a container grows. Stateless.
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
  /// Bytes of a vector that was given a size have no value yet: who asks for them writes them.
  template <class U>
  requires std::is_same_v<U, char>
  void construct(U* at) noexcept { ::new (static_cast<void*>(at)) U; }
  template <class U>
  bool operator==(const WipingAllocator<U>&) const noexcept {
    return true;
  }
};

/// Bytes that may hold a secret, such as a request's body. A vector, since a string keeps short texts inside
/// itself, where no allocator wipes them.
using WipedBytes = std::vector<char, WipingAllocator<char>>;

/// Adds `bytes` at the end. memcpy(3) would leave some of them in vector registers, which the system may put
/// where nobody wipes them, and the vector's own `insert` takes one at a time. REQUIRES: `bytes` are none of
/// `to`.
void append(WipedBytes& to, std::string_view bytes);

/// A secret that we own: a shared secret of the configuration, a freshly made token. It is wiped when it
/// goes, moves but does not copy by accident, compares in constant time only, and cannot be printed,
/// formatted or logged. Not synchronized.
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

  /// A look at the text. A type of its own, so that the word `reveal` stands wherever a secret is read.
  struct Revealed {
    std::string_view text;
  };
  [[nodiscard]] Revealed reveal() const noexcept { return {{bytes_.data(), bytes_.size()}}; }

 private:
  WipedBytes bytes_;
};

/// A secret that somebody else owns and wipes: a password or token inside the request's body. Cannot be
/// printed.
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

/// Are both the same? Takes the same time wherever they differ; only a difference in length shows.
[[nodiscard]] bool equal_in_constant_time(std::string_view a, std::string_view b) noexcept;

}  // namespace rest_fcgi
