// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace rest_fcgi {

/// The kinds of failures. `netapi` has a table with the HTTP status of each kind.
enum class ErrorKind {
  malformed,        ///< `malformed` means that the body is not JSON, or that its JSON exceeds a limit.
  invocation,       ///< `invocation` means that valid JSON cannot run (Salt's SaltInvocationError).
  unknown_runner,   ///< `unknown_runner` means that the runner does not exist.
  authentication,   ///< `authentication` means that credentials are missing or wrong.
  authorization,    ///< `authorization` means that the user lacks permission.
  throttled,        ///< `throttled` means that the user or address had too many failed logins.
  forbidden,        ///< `forbidden` means that the address or web page may not send requests.
  conflict,         ///< `conflict` means that the object exists already.
  key_reused,       ///< `key_reused` means that another request had the same Idempotency-Key.
  not_acceptable,   ///< `not_acceptable` means that the media type is not supported.
  unsupported,      ///< `unsupported` means that the body's encoding is not supported.
  too_large,        ///< `too_large` means that the body exceeds `max_request_body_size`.
  reply_too_large,  ///< `reply_too_large` means that the reply exceeds `max_reply_bytes`.
  not_found,        ///< `not_found` means that the requested object does not exist.
  unavailable,      ///< `unavailable` means that a server that this program needs cannot answer now.
  timeout,          ///< `timeout` means that a server did not answer in time.
  configuration,    ///< `configuration` means that the configuration or the command line has a mistake.
  internal,         ///< `internal` means that this program or its host failed.
};

/// An expected failure. `message` is one sentence for the caller and contains no secrets.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string message;
  std::string jid{};  ///< `jid` is the job that started before the failure. Empty if no job started.
  /// `retry_after` is the time after which the caller may try again. Only the kind throttled sets this time.
  std::chrono::seconds retry_after{0};
  std::string user{};    ///< `user` is the user of the refused request, if known.
  std::string eauth{};   ///< `eauth` is the back end of this user, if known.
  std::string reason{};  ///< `reason` is the setting that refused the request. The audit line shows it.
  /// `counts_as_guess` is true if a failure of the back end counts as a failed login, because the failure may
  /// depend on the password.
  bool counts_as_guess = false;
  /// `may_have_run` is true if a server may have carried out the request although its answer is missing.
  bool may_have_run = false;
  std::string key{};  ///< `key` is the key of the configuration whose value is wrong. Other errors have none.
};

/// Returns the error `KEY: WHY` for a wrong value of a key of the configuration, such as `rest_fcgi: listen`.
[[nodiscard, gnu::cold]] inline Error wrong_setting(std::string key, std::string_view why) {
  std::string message = key;
  message.append(": ").append(why);
  return {.kind = ErrorKind::configuration, .message = std::move(message), .key = std::move(key)};
}

/// An optional Error on the heap, so that a Result without an error is small and fast.
class HeldError {
 public:
  HeldError() = default;
  [[gnu::cold]] explicit HeldError(Error&& error) : error_(new Error(std::move(error))) {}
  HeldError(const HeldError& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  HeldError& operator=(const HeldError& other) { return *this = HeldError(other); }
  HeldError(HeldError&&) noexcept = default;
  HeldError& operator=(HeldError&&) noexcept = default;
  ~HeldError() = default;

  [[nodiscard]] bool has_error() const noexcept { return error_ != nullptr; }
  [[nodiscard]] Error& operator*() const noexcept { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

template <class T>
class [[nodiscard]] Result;

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  [[gnu::cold]] Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return !error_.has_error(); }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] const Error& error() const& { return *error_; }
  [[nodiscard]] Error&& error() && { return std::move(*error_); }

 private:
  HeldError error_;
};

/// A value or an `Error`. A Result is not thread-safe.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  [[gnu::cold]] Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

  [[nodiscard]] const Error& error() const& { return *std::get<1>(content_); }
  [[nodiscard]] Error&& error() && { return std::move(*std::get<1>(content_)); }

  /// Returns success without the value, or the error.
  [[nodiscard]] Result<void> without_value() && { return ok() ? Result<void>() : std::move(*this).error(); }

 private:
  std::variant<T, HeldError> content_;
};

}  // namespace rest_fcgi
