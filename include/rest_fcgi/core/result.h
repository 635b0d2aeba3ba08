// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace rest_fcgi {

/// Kinds of failures. The list is closed: a table in `netapi` gives each kind its HTTP status.
enum class ErrorKind {
  malformed,        ///< the body is not JSON, or exceeds a limit on its form
  invocation,       ///< Salt's SaltInvocationError: valid JSON that cannot be run
  authentication,   ///< credentials are missing or wrong
  authorization,    ///< the user lacks permission
  throttled,        ///< too many failed logins; the credentials were not checked
  forbidden,        ///< not allowed from this address or web page
  conflict,         ///< the object exists already
  not_acceptable,   ///< the media type is not supported
  unsupported,      ///< the body's encoding is not supported
  too_large,        ///< the body exceeds `max_request_body_size`
  reply_too_large,  ///< the reply exceeds `max_reply_bytes`
  not_found,        ///< the requested object does not exist
  unavailable,      ///< a server that is needed does not run, or cannot answer now
  timeout,          ///< a server did not answer in time
  configuration,    ///< a mistake in the configuration or on the command line
  internal,         ///< a failure of this program or host
};

/// An expected failure. Value type. `message` is one sentence for the caller without secrets.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string jid{};                    ///< the job that was started before the failure; empty: none
  std::chrono::seconds retry_after{0};  ///< throttled only: when to try again
  std::string user{};                   ///< the user whose request was refused, if known
  std::string eauth{};                  ///< the user's back end, if known
  std::string reason{};                 ///< the setting that refused it, for the audit line only
  /// For a failure of a back end itself: it may depend on the password, so it counts as a failed login.
  bool counts_as_guess = false;
};

/// An optional Error on the heap, so that a Result without error is small and fast. Copies and moves its
/// content.
class HeldError {
 public:
  HeldError() = default;
  // Marked cold, so that the compiler moves failures out of the way of successes.
  [[gnu::cold]] explicit HeldError(Error&& error) : error_(new Error(std::move(error))) {}
  HeldError(const HeldError& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  HeldError& operator=(const HeldError& other) { return *this = HeldError(other); }
  HeldError(HeldError&&) noexcept = default;
  HeldError& operator=(HeldError&&) noexcept = default;
  ~HeldError() = default;

  [[nodiscard]] bool has_error() const noexcept { return error_ != nullptr; }
  /// REQUIRES: has_error().
  [[nodiscard]] Error& operator*() const noexcept { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

/// A value or an `Error`. Moves like its content; not synchronized.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  [[gnu::cold]] Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// REQUIRES: ok().
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

  /// REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return *std::get<1>(content_); }
  [[nodiscard]] Error&& error() && { return std::move(*std::get<1>(content_)); }

 private:
  std::variant<T, HeldError> content_;
};

/// Success or an `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  [[gnu::cold]] Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return !error_.has_error(); }
  explicit operator bool() const noexcept { return ok(); }

  /// REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  HeldError error_;
};

}  // namespace rest_fcgi
