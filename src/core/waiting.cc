// SPDX-License-Identifier: MIT
#include "rest_fcgi/core/waiting.h"

namespace rest_fcgi {
namespace {

thread_local WaitObserver* observer_of_thread = nullptr;
thread_local unsigned depth = 0;  // The number of Waiting objects of this thread.

}  // namespace

void observe_waits(WaitObserver& observer) noexcept {
  observer_of_thread = &observer;
}

Waiting::Waiting() noexcept {
  if (depth++ == 0 && observer_of_thread != nullptr) observer_of_thread->begin_wait();
}

Waiting::~Waiting() {
  if (--depth == 0 && observer_of_thread != nullptr) observer_of_thread->end_wait();
}

}  // namespace rest_fcgi
