// SPDX-License-Identifier: MIT
#pragma once

#include "master/embedded/modules/module.h"

/// Functions of Salt's execution module `file`, by their names in Python.
namespace rest_fcgi::embedded::file_module {

[[nodiscard]] Reply basename(const Call& call);
[[nodiscard]] Reply dirname(const Call& call);
[[nodiscard]] Reply join(const Call& call);
[[nodiscard]] Reply normpath(const Call& call);
[[nodiscard]] Reply pardir(const Call& call);
[[nodiscard]] Reply uid_to_user(const Call& call);
[[nodiscard]] Reply user_to_uid(const Call& call);
[[nodiscard]] Reply gid_to_group(const Call& call);
[[nodiscard]] Reply group_to_gid(const Call& call);

[[nodiscard]] Reply access(const Call& call);
[[nodiscard]] Reply directory_exists(const Call& call);
[[nodiscard]] Reply file_exists(const Call& call);
[[nodiscard]] Reply is_blkdev(const Call& call);
[[nodiscard]] Reply is_chrdev(const Call& call);
[[nodiscard]] Reply is_fifo(const Call& call);
[[nodiscard]] Reply is_link(const Call& call);
[[nodiscard]] Reply path_exists_glob(const Call& call);
[[nodiscard]] Reply readdir(const Call& call);
[[nodiscard]] Reply readlink(const Call& call);

[[nodiscard]] Reply get_gid(const Call& call);
[[nodiscard]] Reply get_group(const Call& call);
[[nodiscard]] Reply get_mode(const Call& call);
[[nodiscard]] Reply get_uid(const Call& call);
[[nodiscard]] Reply get_user(const Call& call);
[[nodiscard]] Reply is_hardlink(const Call& call);
[[nodiscard]] Reply lstat(const Call& call);
[[nodiscard]] Reply stats(const Call& call);
[[nodiscard]] Reply statvfs(const Call& call);

[[nodiscard]] Reply check_hash(const Call& call);
[[nodiscard]] Reply contains(const Call& call);
[[nodiscard]] Reply contains_regex(const Call& call);
[[nodiscard]] Reply get_hash(const Call& call);
[[nodiscard]] Reply get_sum(const Call& call);
[[nodiscard]] Reply read(const Call& call);

// These change files, below the configured root alone.
[[nodiscard]] Reply append(const Call& call);
[[nodiscard]] Reply mkdir(const Call& call);
[[nodiscard]] Reply remove(const Call& call);
[[nodiscard]] Reply touch(const Call& call);
[[nodiscard]] Reply write(const Call& call);

}  // namespace rest_fcgi::embedded::file_module
