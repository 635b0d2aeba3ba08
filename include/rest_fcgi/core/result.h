// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace rest_fcgi {

/// The kinds of failures. A table in `netapi` has the HTTP status of each kind.
enum class ErrorKind {
  malformed,        ///< the body is not JSON, or exceeds a limit on its form
  invocation,       ///< Salt's SaltInvocationError: the request is valid JSON, but cannot be run
  authentication,   ///< credentials are missing or wrong
  authorization,    ///< the user lacks permission
  throttled,        ///< too many failed logins; the credentials were not checked
  forbidden,        ///< requests from this address or web page are not allowed
  conflict,         ///< the object exists already
  not_acceptable,   ///< the media type is not supported
  unsupported,      ///< the body's encoding is not supported
  too_large,        ///< the body exceeds `max_request_body_size`
  reply_too_large,  ///< the reply exceeds `max_reply_bytes`
  not_found,        ///< the requested object does not exist
  unavailable,      ///< a server that this program needs does not run, or cannot answer now
  timeout,          ///< a server did not answer in time
  configuration,    ///< a mistake in the configuration or on the command line
  internal,         ///< a failure of this program or host
};

/// An expected failure. `message` is one sentence for the caller and contains no secrets. Value type.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string jid{};  ///< the job that was started before the failure; empty if no job was started
  /// The time after which the caller may try again. Set only for the kind throttled.
  std::chrono::seconds retry_after{0};
  std::string user{};    ///< the user whose request was refused, if known
  std::string eauth{};   ///< the user's back end, if known
  std::string reason{};  ///< the setting that refused the request; written only to the audit line
  /// Whether this error counts as a failed login, although the back end itself failed. This is set if the
  /// failure may depend on the password.
  bool counts_as_guess = false;
};

/// An optional Error. The Error is on the heap, so that a Result without an error is small and fast. Copies
/// and moves its content.
class HeldError {
 public:
  HeldError() = default;
  // The attribute `cold` makes the compiler move the code for failures away from the code for success.
  [[gnu::cold]] explicit HeldError(Error&& error) : error_(new Error(std::move(error))) {}
  HeldError(const HeldError& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  HeldError& operator=(const HeldError& other) { return *this = HeldError(other); }
  HeldError(HeldError&&) noexcept = default;
  HeldError& operator=(HeldError&&) noexcept = default;
  ~HeldError() = default;

  [[nodiscard]] bool has_error() const noexcept { return error_ != nullptr; }
  /// Returns the Error. REQUIRES: has_error().
  [[nodiscard]] Error& operator*() const noexcept { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

/// Holds a value or an `Error`. Copies and moves like its content. Not synchronized.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  [[gnu::cold]] Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// Returns the value. REQUIRES: ok().
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

  /// Returns the error. REQUIRES: !ok().
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

  /// Returns the error. REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  HeldError error_;
};

}  // namespace rest_fcgi
