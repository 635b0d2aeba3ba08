#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the tests of a build with sanitizers: BUILD is its folder, SAN its -fsanitize. Any report ends the program
# with an error, which fails the test that ran it.
set -eu

export ASAN_OPTIONS='abort_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1'
export UBSAN_OPTIONS='halt_on_error=1:print_stacktrace=1'
export TSAN_OPTIONS='halt_on_error=1:second_deadlock_stack=1:die_after_fork=0' # tests fork to be killed
TSAN_OPTIONS="$TSAN_OPTIONS:suppressions=$PWD/test/tsan.supp"
export REST_FCGI_BINARY="$BUILD/rest_fcgi" REST_FCGI_SANITIZED="$SAN"

if [ "$SAN" = thread ]; then
  # What the thread sanitizer of older compilers expects of addresses does not hold where the kernel spreads them
  # widely (vm.mmap_rnd_bits); without spreading it does.
  fixed=
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed="setarch $(uname -m) -R"; fi
  # Of the tests over the wire those in which threads meet.
  # shellcheck disable=SC2086 # words, on purpose
  exec $fixed "$PYTHON" test/run.py --unit "$BUILD/unit_tests" \
    test/wire/test_load.py test/wire/test_jobs.py test/wire/test_process.py test/wire/test_fastcgi.py
fi

# But for those that are about the shape of what is returned and installed, not about how.
wire=$(find test/wire -maxdepth 1 -name 'test_*.py' ! -name test_install.py ! -name test_service.py ! -name test_salt_call.py | sort)
# shellcheck disable=SC2086 # words, on purpose
exec "$PYTHON" test/run.py --unit "$BUILD/unit_tests" $wire
