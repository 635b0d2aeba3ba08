// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/module.h"

/// The functions of Salt's execution module `test`, by their names in Python. Each takes the arguments of its
/// entry in the table of test_module.cc, which also says what it does.
namespace rest_fcgi::embedded::test_module {

[[nodiscard]] Reply ping(const Call& call);
[[nodiscard]] Reply true_(const Call& call);
[[nodiscard]] Reply false_(const Call& call);
[[nodiscard]] Reply echo(const Call& call);
[[nodiscard]] Reply arg(const Call& call);
[[nodiscard]] Reply arg_clean(const Call& call);
[[nodiscard]] Reply arg_repr(const Call& call);
[[nodiscard]] Reply arg_type(const Call& call);
[[nodiscard]] Reply kwarg(const Call& call);
[[nodiscard]] Reply retcode(const Call& call);

[[nodiscard]] Reply sleep(const Call& call);
[[nodiscard]] Reply rand_sleep(const Call& call);

[[nodiscard]] Reply fib(const Call& call);
[[nodiscard]] Reply collatz(const Call& call);
[[nodiscard]] Reply random_hash(const Call& call);

[[nodiscard]] Reply assertion(const Call& call);
[[nodiscard]] Reply exception(const Call& call);
[[nodiscard]] Reply raise_exception(const Call& call);

[[nodiscard]] Reply module_report(const Call& call);
[[nodiscard]] Reply not_loaded(const Call& call);
[[nodiscard]] Reply provider(const Call& call);
[[nodiscard]] Reply providers(const Call& call);
[[nodiscard]] Reply version(const Call& call);
[[nodiscard]] Reply versions_information(const Call& call);
[[nodiscard]] Reply versions_report(const Call& call);

}  // namespace rest_fcgi::embedded::test_module
