// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/digest.h"
#include "rest_fcgi/core/result.h"
#include "rest_fcgi/core/secret.h"

namespace rest_fcgi::auth {

/// Where user name and stored password stand in a line. Fields count from 0. Value type.
struct FieldLayout {
  std::string separator = ":";
  std::size_t username = 0;
  std::size_t password = 1;
  std::string realm;      ///< what field 1 has to be; empty: that field is like any other
  bool comments = false;  ///< a line that starts with `#` is none

  struct Entry {
    std::string_view username;
    std::string_view stored;
  };

  /// What a line says; absent where it lacks a field, or is of another realm. Borrows from `line`.
  [[nodiscard]] std::optional<Entry> read(std::string_view line) const;
};

/// The users of a file with passwords as it once was. Immutable; thread-safe.
class Users {
 public:
  /// `digest` has to outlive it.
  Users(WipedBytes bytes, const FieldLayout& layout, const KeyedDigest& digest);

  struct Found {
    std::string_view stored;  ///< borrows from the users
    bool is_user = false;
  };

  /// What is stored for a user: their first entry. For an unknown name it is what another user's entry
  /// stores, for each name always the same: so names that nobody has take the time that names of users take.
  [[nodiscard]] Found find(std::string_view username) const;

  /// In steps of this long failures are answered: twice the time of the file's slowest kind of hash, at least
  /// 5 ms, at most 1 s. By it, who is a user cannot be told from how long their kind of hash takes. The first
  /// call measures: `hash` computes one of what is stored.
  using Hash = std::function<void(std::string_view stored)>;
  [[nodiscard]] std::chrono::steady_clock::duration failure_step(const Hash& hash) const;

 private:
  const WipedBytes bytes_;
  const KeyedDigest& digest_;
  std::vector<FieldLayout::Entry> entries_;  // borrow from bytes_
  std::vector<std::string_view> stored_;     // those of the entries that store anything
  mutable std::once_flag measured_;
  mutable std::chrono::steady_clock::duration step_{};  // written once, under measured_
};

/// A file with users, which is looked at whenever somebody logs in and read when it has changed. Thread-safe.
class UserFile {
 public:
  /// Errors: configuration or internal, where OpenSSL has no SHA-256 or no randomness.
  static Result<std::shared_ptr<UserFile>> make(std::string path, FieldLayout layout);
  UserFile(std::string path, FieldLayout layout, KeyedDigest digest)
      : path_(std::move(path)), layout_(std::move(layout)), digest_(std::move(digest)) {}

  /// As the file is now. Errors: not_found; configuration, for one that others may change; unavailable, where
  /// the system is short of something; internal. Each is the end of a sentence that begins with its path.
  [[nodiscard]] Result<std::shared_ptr<const Users>> users();

  /// Which file it is and when it was changed last, in bytes that mean nothing else. A file that was changed
  /// a moment ago has another stamp each time, for it may change once more without another time.
  [[nodiscard]] std::string stamp() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
  const FieldLayout layout_;
  const KeyedDigest digest_;
  std::mutex mutex_;
  std::string stamp_;                   // of users_; guarded by mutex_
  std::shared_ptr<const Users> users_;  // guarded by mutex_
};

}  // namespace rest_fcgi::auth
