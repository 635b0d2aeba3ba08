#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of the build in BUILD with the sanitizers in SAN. Each report of a sanitizer fails the test.
set -eu

export ASAN_OPTIONS='abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1'
export LSAN_OPTIONS="suppressions=$PWD/test/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS='halt_on_error=1:print_stacktrace=1'
export TSAN_OPTIONS='halt_on_error=1:second_deadlock_stack=1:die_after_fork=0'
TSAN_OPTIONS="$TSAN_OPTIONS:suppressions=$PWD/test/tsan.supp"
export REST_FCGI_BINARY="$BUILD/rest_fcgi" REST_FCGI_SANITIZED="$SAN"

if [ "$SAN" = thread ]; then
  # The thread sanitizer of older compilers fails if the kernel has a high vm.mmap_rnd_bits. `setarch -R` turns off this address
  # randomization.
  fixed=
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed="setarch $(uname -m) -R"; fi
  parts='load jobs process streams' # threads share data in these tests
else
  fixed=
  # The tests below send untrusted bytes to sockets, TLS and helper programs.
  parts='fastcgi hostile_bodies http_hostile load mutual_tls pam_helper process rest run_helper streams'
fi
wire=
for part in $parts; do wire="$wire test/wire/test_$part.py"; done
# shellcheck disable=SC2086 # lists of words
exec $fixed "$PYTHON" test/run.py --unit "$BUILD/unit_tests" $wire
