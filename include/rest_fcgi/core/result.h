// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace rest_fcgi {

/// What went wrong, by whose fault it is. The list is closed: one table in `netapi` gives each its HTTP
/// status.
enum class ErrorKind {
  malformed,        ///< the body is not JSON, or breaks a limit on its form
  invocation,       ///< Salt's SaltInvocationError: it is JSON, but nothing that can be run
  authentication,   ///< no credentials, or none that are good
  authorization,    ///< good credentials without the right to do this
  throttled,        ///< too many failed tries to log in; the credentials were not looked at
  forbidden,        ///< not from that address or web page, whoever asks
  conflict,         ///< it would take the place of something that is there
  not_acceptable,   ///< in a form that is not spoken here, or wanted in one
  unsupported,      ///< a body that is packed in a way that is not read
  too_large,        ///< the body exceeds `max_request_body_size`
  reply_too_large,  ///< what was asked for exceeds `max_reply_bytes`
  not_found,        ///< the thing asked for does not exist; nothing failed
  unavailable,      ///< who should answer is not there (now)
  timeout,          ///< who should answer did not do so in time
  configuration,    ///< a mistake in the configuration or on the command line
  internal,         ///< our own fault, or the host's
};

/// A failure that was expected to happen now and then. Plain value; `message` is one sentence for whoever
/// sent the input and never holds a secret.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string jid{};  ///< the job that was already given out when it failed; empty where there is none
  std::chrono::seconds retry_after{0};  ///< throttled only: when another try is worth it
  std::string user{};                   ///< set once they are known: whose call was refused
  std::string eauth{};                  ///< and the back end that knows them
  std::string reason{};                 ///< the setting that refused it, for the audit line alone
  /// Of a back end that fails by itself: it may have failed because of the password, so this counts as a
  /// guess.
  bool counts_as_guess = false;
};

/// An Error that a Result holds, or none. It lies apart, so that a success is no larger and no slower for the
/// failure that it might have been. Copied and moved as its content.
class HeldError {
 public:
  HeldError() = default;
  // Cold, as all that leads there and nowhere else: the compiler puts it out of the way of what succeeds.
  [[gnu::cold]] explicit HeldError(Error&& error) : error_(new Error(std::move(error))) {}
  HeldError(const HeldError& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  HeldError& operator=(const HeldError& other) { return *this = HeldError(other); }
  HeldError(HeldError&&) noexcept = default;
  HeldError& operator=(HeldError&&) noexcept = default;
  ~HeldError() = default;

  [[nodiscard]] bool is_there() const noexcept { return error_ != nullptr; }
  /// REQUIRES: is_there().
  [[nodiscard]] Error& operator*() const noexcept { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

/// Either a value or the `Error` that kept us from having it. Moves as its content does; not synchronized.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  [[gnu::cold]] Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// The value. REQUIRES: ok().
  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

  /// The failure. REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return *std::get<1>(content_); }
  [[nodiscard]] Error&& error() && { return std::move(*std::get<1>(content_)); }

 private:
  std::variant<T, HeldError> content_;
};

/// Success without a value, or the `Error`.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  [[gnu::cold]] Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return !error_.is_there(); }
  explicit operator bool() const noexcept { return ok(); }

  /// The failure. REQUIRES: !ok().
  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  HeldError error_;
};

}  // namespace rest_fcgi
