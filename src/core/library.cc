// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/library.h"

#include <dlfcn.h>

namespace rest_fcgi {

Library::Library(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) problem_ = ::dlerror();
}

Library::Symbol Library::operator[](const char* function) {
  void* const address = handle_ == nullptr ? nullptr : ::dlsym(handle_, function);
  if (address == nullptr && problem_.empty()) problem_ = ::dlerror();
  return Symbol(address);
}

}  // namespace rest_fcgi
