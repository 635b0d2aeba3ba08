// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace rest_fcgi::embedded {

/// The public halves of the keys that `key.gen_accept` made. They count as accepted, as on a Salt master, and
/// nothing more comes of them: minions of this process need no keys. Bounded, since callers name them; gone
/// with the process. Thread-safe.
class MadeKeys {
 public:
  static constexpr std::size_t kMost = 1000;

  struct Key {
    std::string pub;          ///< PEM
    std::string fingerprint;  ///< as Salt shows it
  };
  using All = std::map<std::string, Key, std::less<>>;

  enum class Added { yes, exists, full };

  /// Of a minion that has one already only where `force` is.
  Added add(std::string_view id, Key key, bool force) {
    const std::lock_guard lock(mutex_);
    const auto found = keys_.find(id);
    if (found == keys_.end() && keys_.size() >= kMost) return Added::full;
    if (found != keys_.end() && !force) return Added::exists;
    keys_.insert_or_assign(std::string(id), std::move(key));
    return Added::yes;
  }

  void remove(std::string_view id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = keys_.find(id); found != keys_.end()) keys_.erase(found);
  }

  [[nodiscard]] All all() const {
    const std::lock_guard lock(mutex_);
    return keys_;
  }

 private:
  mutable std::mutex mutex_;
  All keys_;  // guarded by mutex_
};

}  // namespace rest_fcgi::embedded
