// SPDX-License-Identifier: MIT
#include <crypt.h>

#include <string>
#include <vector>

#include "auth/password_hash.h"

namespace rest_fcgi::auth {

bool crypt_matches(SecretView password, std::string_view stored) {
  const std::string setting(stored);
  WipedBytes phrase(password.reveal().begin(), password.reveal().end());
  phrase.push_back('\0');
  // On the heap: it has 32 KiB, and a request's thread has a small stack.
  std::vector<crypt_data, WipingAllocator<crypt_data>> work(1);
  const char* found = ::crypt_r(phrase.data(), setting.c_str(), work.data());
  // libxcrypt says `*0` or `*1` where it can make nothing of the setting.
  return found != nullptr && found[0] != '*' && equal_in_constant_time(found, stored);
}

}  // namespace rest_fcgi::auth
