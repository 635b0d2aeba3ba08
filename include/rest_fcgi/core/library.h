// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace rest_fcgi {

/// A shared library that few need and who needs it loads, and not whoever starts the process. Its functions
/// are looked up by their names, as what they are used for. It stays loaded until the process ends. Not
/// synchronized.
class Library {
 public:
  /// `name` as of dlopen(3).
  explicit Library(const char* name);

  /// One function, of whatever type it is needed; null where there is none.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    template <class Function>
    operator Function*() const noexcept {
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  Symbol operator[](const char* function);

  /// What went wrong first: it could not be loaded, or has not all that was looked up. Empty: nothing.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  void* handle_;
  std::string problem_;
};

}  // namespace rest_fcgi
