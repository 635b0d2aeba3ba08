// SPDX-License-Identifier: MIT
#include "etcd/login.h"

#include <utility>

namespace rest_fcgi::etcd {

Result<void> check_user(const Options& options) {
  const bool has_password = options.password && !options.password->empty();
  if (options.username.empty() != has_password) return {};
  return Error{ErrorKind::configuration,
               has_password ? "etcd: a password without a username; both go together, or neither"
                            : "etcd: a username without a password; both go together, or neither"};
}

Tried<Token> Login::token(const Fetch& fetch, Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (token_) return token_;
  if (pending_.valid()) {
    const std::shared_future<Tried<Token>> pending = pending_;
    lock.unlock();
    if (pending.wait_until(deadline) == std::future_status::ready) return pending.get();
    return Failure{{ErrorKind::unavailable, "etcd: a login under way did not come back in time"},
                   Remedy::next_member};
  }
  std::packaged_task<Tried<Token>()> task(fetch);
  const std::shared_future<Tried<Token>> own = task.get_future().share();
  pending_ = own;
  lock.unlock();
  task();
  lock.lock();
  pending_ = {};
  const Tried<Token>& fetched = own.get();
  if (const Token* token = std::get_if<Token>(&fetched)) token_ = *token;
  return fetched;
}

void Login::refused(const Token& token) {
  const std::lock_guard lock(mutex_);
  if (token_ == token) token_.reset();
}

void Login::forget() {
  const std::lock_guard lock(mutex_);
  token_.reset();
}

}  // namespace rest_fcgi::etcd
