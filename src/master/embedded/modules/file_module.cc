// SPDX-License-Identifier: MIT
#include "master/embedded/modules/file_module.h"

#include <array>

namespace rest_fcgi::embedded {
namespace {

using Parameters = std::array<Parameter, 6>;

/// Not quick: a file system may take its time, and so may who knows users' names.
constexpr Function function(std::string_view name, Parameters parameters, std::string_view summary,
                            std::string_view example, Reply (*run)(const Call&)) {
  return {.name = name,
          .python_name = name.substr(name.find('.') + 1),
          .parameters = parameters,
          .summary = summary,
          .example = example,
          .quick = false,
          .run = run};
}

constexpr Function of_text(Function function) {
  function.quick = true;
  return function;
}

/// With lines to write.
constexpr Function of_lines(std::string_view name, std::string_view summary, std::string_view example,
                            Reply (*run)(const Call&)) {
  Function made = function(name, {{{"path"}}}, summary, example, run);
  made.takes_varargs = true;
  made.takes_keywords = true;
  return made;
}

constexpr Function join_function() {
  Function made = of_text(function("file.join", {}, "Return paths joined to one.",
                                   "file.join '/' usr local bin", file_module::join));
  made.takes_varargs = true;
  return made;
}

constexpr Function remove_function() {
  Function made = function("file.remove", {{{"path"}}},
                           "Remove a file, or a folder with all that is in it, below ``file_root``.",
                           "file.remove /srv/files/old", file_module::remove);
  made.takes_keywords = true;
  return made;
}

constexpr Parameters kPath = {{{"path"}}};
constexpr Parameters kName = {{{"name"}}};
constexpr Parameters kFollowed = {{{"path"}, {"follow_symlinks", "true"}}};

namespace f = file_module;

constexpr std::array kFunctions = {
    function("file.access", {{{"path"}, {"mode"}}},
             "Return whether we may read (``r``), write (``w``) or run (``x``) it, or whether it is there "
             "(``f``).",
             "file.access /path/to/file r", f::access),
    of_lines("file.append", "Append lines to a file below ``file_root``.",
             "file.append /srv/files/motd 'With all thine offerings thou shalt offer salt.'", f::append),
    of_text(function("file.basename", kPath, "Return the last name of a path.", "file.basename a/b.txt",
                     f::basename)),
    function("file.check_hash", {{{"path"}, {"file_hash"}}}, "Return whether a file has this hash.",
             "file.check_hash /etc/fstab md5:6f1ed002ab5595859014ebf0951522d9", f::check_hash),
    function("file.contains", {{{"path"}, {"text"}}}, "Return whether a file contains a text.",
             "file.contains /etc/crontab mymaintenance.sh", f::contains),
    function("file.contains_regex", {{{"path"}, {"regex"}, {"lchar", R"("")"}}},
             "Return whether a regular expression is found in a line of a file. Characters of ``lchar`` in\n"
             "front of a line do not count.",
             "file.contains_regex /etc/crontab '^root'", f::contains_regex),
    function("file.directory_exists", kPath, "Return whether there is such a folder.",
             "file.directory_exists /etc", f::directory_exists),
    of_text(function("file.dirname", kPath, "Return a path without its last name.", "file.dirname a/b.txt",
                     f::dirname)),
    function("file.file_exists", kPath, "Return whether there is such a file.",
             "file.file_exists /etc/passwd", f::file_exists),
    function("file.get_gid", kFollowed, "Return the id of a file's group.", "file.get_gid /etc/passwd",
             f::get_gid),
    function("file.get_group", kFollowed, "Return the name of a file's group.", "file.get_group /etc/passwd",
             f::get_group),
    function("file.get_hash", {{{"path"}, {"form", R"("sha256")"}, {"chunk_size", "65536"}}},
             "Return the hash of a file's content.", "file.get_hash /etc/shadow", f::get_hash),
    function("file.get_mode", kFollowed, "Return a file's permissions.", "file.get_mode /etc/passwd",
             f::get_mode),
    function("file.get_sum", {{{"path"}, {"form", R"("sha256")"}}},
             "Return the hash of a file's content, or that there is none.", "file.get_sum /etc/passwd sha512",
             f::get_sum),
    function("file.get_uid", kFollowed, "Return the id of a file's owner.", "file.get_uid /etc/passwd",
             f::get_uid),
    function("file.get_user", kFollowed, "Return the name of a file's owner.", "file.get_user /etc/passwd",
             f::get_user),
    function("file.gid_to_group", {{{"gid"}}}, "Return the name of a group.", "file.gid_to_group 0",
             f::gid_to_group),
    function("file.group_to_gid", {{{"group"}}}, "Return the id of a group.", "file.group_to_gid root",
             f::group_to_gid),
    function("file.is_blkdev", kName, "Return whether it is a block device.", "file.is_blkdev /dev/sda",
             f::is_blkdev),
    function("file.is_chrdev", kName, "Return whether it is a character device.", "file.is_chrdev /dev/null",
             f::is_chrdev),
    function("file.is_fifo", kName, "Return whether it is a named pipe.", "file.is_fifo /dev/fifo",
             f::is_fifo),
    function("file.is_hardlink", kPath, "Return whether a file has more than one name.",
             "file.is_hardlink /path/to/link", f::is_hardlink),
    function("file.is_link", kPath, "Return whether it is a symbolic link.", "file.is_link /path/to/link",
             f::is_link),
    join_function(),
    function("file.lstat", kPath, "Return what the system says of a file, or of a link itself.",
             "file.lstat /path/to/file", f::lstat),
    function("file.mkdir", {{{"dir_path"}, {"user", "null"}, {"group", "null"}, {"mode", "null"}}},
             "Make a folder, and those above it that are missing, below ``file_root``.",
             "file.mkdir /srv/files/new", f::mkdir),
    of_text(function("file.normpath", kPath,
                     "Return a path without ``.``, ``..`` and slashes that are not needed.",
                     "file.normpath a/../b", f::normpath)),
    of_text(
        function("file.pardir", {}, "Return the name of the folder above: ``..``", "file.pardir", f::pardir)),
    function("file.path_exists_glob", kPath, "Return whether there is a path that matches.",
             "file.path_exists_glob '/etc/pam*/pass*'", f::path_exists_glob),
    function("file.read", {{{"path"}, {"binary", "false"}}},
             "Return the content of a file, of at most 16 MiB.", "file.read /path/to/file", f::read),
    function("file.readdir", kPath, "Return the names in a folder.", "file.readdir /path/to/dir", f::readdir),
    function("file.readlink", {{{"path"}, {"canonicalize", "false"}}}, "Return where a symbolic link leads.",
             "file.readlink /path/to/link", f::readlink),
    remove_function(),
    function("file.stats", {{{"path"}, {"hash_type", "null"}, {"follow_symlinks", "true"}}},
             "Return owner, size, times, permissions and type of a file, and its hash where asked for.",
             "file.stats /etc/passwd", f::stats),
    function("file.statvfs", kPath, "Return what the system says of the file system that a file is in.",
             "file.statvfs /path/to/file", f::statvfs),
    function("file.touch", {{{"name"}, {"atime", "null"}, {"mtime", "null"}}},
             "Make an empty file, or set the times of one, below ``file_root``.",
             "file.touch /srv/files/stamp", f::touch),
    function("file.uid_to_user", {{{"uid"}}}, "Return the name of a user.", "file.uid_to_user 0",
             f::uid_to_user),
    function("file.user_to_uid", {{{"user"}}}, "Return the id of a user.", "file.user_to_uid root",
             f::user_to_uid),
    of_lines("file.write", "Write lines to a file below ``file_root``, in place of what it held.",
             "file.write /srv/files/motd 'With all thine offerings thou shalt offer salt.'", f::write),
};

}  // namespace

std::span<const Function> file_functions() {
  return kFunctions;
}

}  // namespace rest_fcgi::embedded
