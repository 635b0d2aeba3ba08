// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "../../../support/temp_dir.h"

namespace rest_fcgi::embedded {
namespace {

const std::string kException = "The minion function caused an exception: ";
const std::string kInvalid = "Passed invalid arguments to ";

std::string quoted(const std::string& text) {
  return "[\"" + text + "\"]";
}

/// A folder with a file `text`, a link `link` to it, one `dangling`, a pipe `fifo` and a folder `sub`.
struct Files {
  Files() {
    (void)dir.write("text", "# one\ntwo\n");
    ::chmod((dir / "text").c_str(), 04640);
    std::filesystem::create_symlink("text", dir / "link");
    std::filesystem::create_symlink("nowhere", dir / "dangling");
    REQUIRE(::mkfifo((dir / "fifo").c_str(), 0600) == 0);
    std::filesystem::create_directory(dir / "sub");
  }
  std::string ret(const std::string& fun, const std::string& name) {
    return minion.ret("file." + fun, quoted(dir / name));
  }
  std::string with(const std::string& fun, const std::string& name, const std::string& more) {
    return minion.sentence("file." + fun, "[\"" + (dir / name) + "\", " + more + "]");
  }
  /// What a call with a path that is not absolute is told.
  std::string told_of_relative_path(const std::string& fun) {
    const std::string start = "ERROR executing 'file." + fun + "': ";
    const std::string sentence = minion.sentence("file." + fun, R"(["x"])");
    CHECK(sentence.starts_with(start));
    return sentence.substr(std::min(start.size(), sentence.size()));
  }
  test::TempDir dir;
  test::Execution minion;
};

TEST_CASE("paths are taken apart and joined as texts") {
  test::Execution m;
  CHECK(m.ret("file.basename", R"(["/a/b.txt"])") == R"("b.txt")");
  CHECK(m.ret("file.dirname", R"(["//a//b/"])") == R"("//a//b")");
  CHECK(m.ret("file.dirname", R"(["/x"])") == R"("/")");
  CHECK(m.ret("file.normpath", R"(["a/../../b/./c"])") == R"("../b/c")");
  CHECK(m.ret("file.normpath", R"(["//x/../.."])") == R"("//")");
  CHECK(m.ret("file.normpath", R"(["///x"])") == R"("/x")");
  CHECK(m.ret("file.normpath", R"([""])") == R"(".")");
  CHECK(m.ret("file.join", R"(["/", "usr", "local/", "bin"])") == R"("/usr/local/bin")");
  CHECK(m.ret("file.join", R"(["a", "/b", ""])") == R"("/b/")");
  CHECK(m.ret("file.pardir") == R"("..")");
  for (const char* fun : {"basename", "dirname", "normpath", "join"}) {
    CHECK(m.sentence("file." + std::string(fun), "[5]") ==
          kInvalid + "file." + fun + ": expected str, bytes or os.PathLike object, not int");
  }
  CHECK(m.sentence("file.join") ==
        kInvalid + "file.join: join() missing 1 required positional argument: 'a'");
}

TEST_CASE("users and groups are known by name and by number") {
  test::Execution m;
  CHECK(m.ret("file.uid_to_user", "[0]") == R"("root")");
  CHECK(m.ret("file.uid_to_user", "[54321]") == "54321");
  CHECK(m.sentence("file.uid_to_user", R"(["x"])") ==
        kInvalid + "file.uid_to_user: uid should be integer, not str");
  CHECK(m.ret("file.user_to_uid", R"(["root"])") == "0");
  CHECK(m.ret("file.user_to_uid", "[7]") == "7");
  CHECK(m.ret("file.user_to_uid", R"(["no_such_user"])") == R"("")");
  CHECK(m.ret("file.user_to_uid", "[null]") == std::to_string(::geteuid()));
  CHECK(m.ret("file.gid_to_group", "[0]") == R"("root")");
  CHECK(m.ret("file.gid_to_group", R"(["root"])") == R"("root")");
  CHECK(m.ret("file.gid_to_group", R"(["no_such_group"])") == R"("")");
  CHECK(m.sentence("file.gid_to_group", "[[]]").starts_with(kInvalid + "file.gid_to_group: int() argument"));
  CHECK(m.ret("file.group_to_gid", R"(["root"])") == "0");
  CHECK(m.ret("file.group_to_gid", "[null]") == R"("")");
  CHECK(m.ret("file.group_to_gid", "[7]") == "7");
}

TEST_CASE("the kind of what lies at a path is told, links followed") {
  Files f;
  CHECK(f.ret("file_exists", "link") == "true");
  CHECK(f.ret("file_exists", "dangling") == "false");
  CHECK(f.ret("directory_exists", "sub") == "true");
  CHECK(f.ret("is_link", "dangling") == "true");
  CHECK(f.ret("is_link", "text") == "false");
  CHECK(f.ret("is_fifo", "fifo") == "true");
  CHECK(f.ret("is_fifo", "nosuch") == "false");
  CHECK(f.minion.ret("file.is_chrdev", R"(["/dev/null"])") == "true");
  CHECK(f.minion.ret("file.is_blkdev", R"(["/dev/null"])") == "false");
  CHECK(f.minion.sentence("file.is_fifo", quoted(f.dir / "text/x"))
            .starts_with(kException + "NotADirectoryError: [Errno 20]"));
  CHECK(f.minion.sentence("file.is_fifo", "[5]") ==
        kInvalid + "file.is_fifo: expected str, bytes or os.PathLike object, not int");
  CHECK(f.minion.sentence("file.is_fifo", R"(["a\u0000b"])") ==
        kException + "ValueError: embedded null byte");
}

TEST_CASE("what we may do with a file is told") {
  Files f;
  CHECK(f.minion.ret("file.access", "[\"" + (f.dir / "text") + "\", \"r\"]") == "true");
  CHECK(f.minion.ret("file.access", "[\"" + (f.dir / "text") + "\", 4]") == "true");
  CHECK(f.minion.ret("file.access", "[\"" + (f.dir / "nosuch") + "\", \"f\"]") == "false");
  CHECK(f.with("access", "text", R"("q")") == "ERROR executing 'file.access': Invalid mode specified.");
  CHECK(f.with("access", "text", "3") == "ERROR executing 'file.access': Invalid mode specified.");
  CHECK(f.minion.sentence("file.access", R"(["x", "r"])") ==
        "ERROR executing 'file.access': Path to link must be absolute.");
}

TEST_CASE("patterns find paths, hidden ones only when they are meant") {
  Files f;
  (void)f.dir.write(".hidden", "");
  CHECK(f.ret("path_exists_glob", "te?t") == "true");
  CHECK(f.ret("path_exists_glob", "*angling") == "true");
  CHECK(f.ret("path_exists_glob", "*hidden") == "false");
  CHECK(f.ret("path_exists_glob", ".h*") == "true");
  CHECK(f.ret("path_exists_glob", "s*/") == "true");
  CHECK(f.ret("path_exists_glob", "*/x*") == "false");
  CHECK(f.minion.ret("file.path_exists_glob", R"([""])") == "false");
}

TEST_CASE("folders are listed and links are read") {
  Files f;
  CHECK(f.ret("readdir", "sub") == R"([".", ".."])");
  CHECK(f.ret("readlink", "link") == R"("text")");
  CHECK(f.with("readlink", "link", "true") == f.dir / "text");
  CHECK(f.minion.sentence("file.readdir", quoted(f.dir / "text")) ==
        "ERROR executing 'file.readdir': A valid directory was not specified: " + (f.dir / "text"));
  CHECK(f.minion.sentence("file.readlink", quoted(f.dir / "text")) ==
        "ERROR executing 'file.readlink': A valid link was not specified: " + (f.dir / "text"));
  CHECK(f.told_of_relative_path("readdir") == "Dir path must be absolute.");
  CHECK(f.told_of_relative_path("readlink") == "Path to link must be absolute: x");
}

TEST_CASE("stats tell owner, size, permissions and type") {
  Files f;
  JsonDocument stats;
  REQUIRE(stats.parse(f.minion.ret("file.stats", "[\"" + (f.dir / "link") + "\", \"md5\"]")));
  const auto value = [&stats](std::string_view key) { return stats.root().find(key).value_or(JsonValue()); };
  CHECK(value("size").integer() == 10);
  CHECK(value("mode").text() == "4640");
  CHECK(value("type").text() == "file");
  CHECK(value("uid").integer() == ::geteuid());
  CHECK(value("sum").text().size() == 32);
  CHECK(value("target").text() == (std::filesystem::canonical(f.dir / "text")).string());
  CHECK(f.minion.ret("file.stats", quoted(f.dir / "link"), R"({"follow_symlinks": false})")
            .find(R"("type": "link")") != std::string::npos);
  CHECK(f.ret("stats", "fifo").find(R"("type": "pipe")") != std::string::npos);
  CHECK(f.ret("stats", "sub").find(R"("type": "dir")") != std::string::npos);
  CHECK(f.ret("stats", "dangling").find(R"("type": "link")") != std::string::npos);
  CHECK(f.minion.ret("file.stats", R"(["/dev/null"])").find(R"("type": "char")") != std::string::npos);
  CHECK(f.with("stats", "text", R"("crc")") == kException + "ValueError: Invalid hash type: crc");
  for (const char* fun : {"stats", "get_uid", "get_gid", "get_user", "get_group", "get_mode"}) {
    CHECK(f.minion.sentence("file." + std::string(fun), quoted(f.dir / "nosuch")) ==
          "ERROR: Path not found: " + (f.dir / "nosuch"));
    CHECK(f.minion.sentence("file." + std::string(fun), "[5]").starts_with(kInvalid));
  }
}

TEST_CASE("owner and permissions can be asked for alone") {
  Files f;
  CHECK(f.ret("get_mode", "text") == R"("4640")");
  CHECK(f.minion.ret("file.get_mode", quoted(f.dir / "link"), R"({"follow_symlinks": false})") ==
        R"("0777")");
  CHECK(f.ret("get_uid", "text") == std::to_string(::geteuid()));
  CHECK(f.ret("get_gid", "text") == std::to_string(::getegid()));
  CHECK(f.minion.ret("file.get_user", R"(["/etc/passwd"])") == R"("root")");
  CHECK(f.minion.ret("file.get_group", R"(["/etc/passwd"])") == R"("root")");
}

TEST_CASE("lstat, statvfs and is_hardlink want absolute paths") {
  Files f;
  CHECK(f.ret("lstat", "text").find(R"("st_size": 10)") != std::string::npos);
  CHECK(f.ret("lstat", "nosuch") == "{}");
  CHECK(f.ret("is_hardlink", "text") == "false");
  CHECK(f.ret("is_hardlink", "nosuch") == "{}");
  std::filesystem::create_hard_link(f.dir / "text", f.dir / "other");
  CHECK(f.ret("is_hardlink", "text") == "true");
  CHECK(f.ret("statvfs", "text").find(R"("f_bsize": )") != std::string::npos);
  CHECK(f.minion.sentence("file.statvfs", quoted(f.dir / "nosuch")) ==
        "ERROR: Could not statvfs '" + (f.dir / "nosuch") + "'");
  CHECK(f.told_of_relative_path("lstat") == "Path to file must be absolute.");
  CHECK(f.told_of_relative_path("statvfs") == "File path must be absolute.");
  CHECK(f.told_of_relative_path("is_hardlink") == "Path to file must be absolute.");
}

TEST_CASE("the content of regular files alone is read") {
  Files f;
  CHECK(f.ret("read", "text") == R"("# one\ntwo\n")");
  CHECK(f.minion.sentence("file.read", quoted(f.dir / "fifo")) ==
        "ERROR: " + (f.dir / "fifo") + " is no regular file, and no other is read");
  CHECK(f.minion.sentence("file.read", R"(["/dev/zero"])") ==
        "ERROR: /dev/zero is no regular file, and no other is read");
  CHECK(f.minion.sentence("file.read", quoted(f.dir / "sub"))
            .starts_with(kException + "IsADirectoryError: [Errno 21]"));
  CHECK(f.minion.sentence("file.read", quoted(f.dir / "nosuch")) ==
        kException + "FileNotFoundError: [Errno 2] No such file or directory: '" + (f.dir / "nosuch") + "'");
}

TEST_CASE("a file of more than 16 MiB is not read") {
  Files f;
  std::filesystem::resize_file(f.dir / "text", (16 << 20) + 1);
  for (const char* fun : {"file.read", "file.contains", "file.contains_regex"}) {
    const std::string args =
        std::string(fun) == "file.read" ? quoted(f.dir / "text") : "[\"" + (f.dir / "text") + "\", \"x\"]";
    CHECK(f.minion.sentence(fun, args) ==
          "ERROR: " + (f.dir / "text") + " is too large to be read: more than 16777216 bytes");
  }
}

TEST_CASE("hashes are computed, compared, and named by their length") {
  Files f;
  const std::string md5 = "0e70d8f54b7f0d4dbad6e3cdb1d2ae53";
  const std::string found = f.with("get_hash", "text", R"("md5")");
  CHECK(found.size() == 32);
  CHECK(found != md5);
  CHECK(f.minion.ret("file.check_hash", "[\"" + (f.dir / "text") + "\", \"" + found + "\"]") == "true");
  CHECK(f.minion.ret("file.check_hash", "[\"" + (f.dir / "text") + "\", \"md5:" + md5 + "\"]") == "false");
  CHECK(f.with("check_hash", "text", R"("abc")") ==
        "ERROR executing 'file.check_hash': Hash abc (length: 3) could not be matched to a supported hash "
        "type. The "
        "supported hash types and lengths are: md5 (32), sha1 (40), sha224 (56), sha256 (64), sha384 (96), "
        "sha512 (128)");
  CHECK(f.with("check_hash", "text", "5") == "ERROR executing 'file.check_hash': hash must be a string");
  CHECK(f.with("check_hash", "nosuch", R"("md5:0")").starts_with(kException + "FileNotFoundError"));
  CHECK(f.with("get_hash", "text", R"("crc")") == kException + "ValueError: Invalid hash type: crc");
  CHECK(f.with("get_sum", "text", R"("sha1")").size() == 40);
  CHECK(f.ret("get_sum", "sub") == R"("File not found")");
}

TEST_CASE("texts and expressions are found in files") {
  Files f;
  const auto found = [&f](const std::string& fun, const std::string& more) {
    return f.minion.ret("file." + fun, "[\"" + (f.dir / "text") + "\", " + more + "]");
  };
  CHECK(found("contains", R"("  two ")") == "true");
  CHECK(found("contains", R"("three")") == "false");
  CHECK(found("contains_regex", R"("^tw[o]$")") == "true");
  CHECK(found("contains_regex", R"("^one")") == "false");
  CHECK(found("contains_regex", R"("^one", "# ")") == "true");
  CHECK(f.with("contains_regex", "text", R"("(")").starts_with(kException + "error: "));
  CHECK(f.minion.ret("file.contains", "[\"" + (f.dir / "nosuch") + "\", \"x\"]") == "false");
  CHECK(f.minion.ret("file.contains_regex", "[\"" + (f.dir / "nosuch") + "\", \"x\"]") == "false");
  CHECK(f.with("contains", "fifo", R"("x")").starts_with("ERROR: "));
}

TEST_CASE("what reads a whole file ends early when the engine stops") {
  Files f;
  std::stop_source source;
  source.request_stop();
  for (const char* fun : {"file.get_hash", "file.contains_regex"}) {
    const Outcome outcome =
        f.minion.run(fun, "[\"" + (f.dir / "text") + "\", \"sha256\"]", "{}", source.get_token());
    CHECK_FALSE(outcome.success);
  }
}

TEST_CASE("a home folder may be named by a tilde") {
  test::Execution m;
  CHECK(m.ret("file.directory_exists", R"(["~root/"])") == "true");
  CHECK(m.ret("file.directory_exists", R"(["~no_such_user"])") == "false");
  CHECK(m.ret("file.directory_exists", R"(["~"])") == "true");
}

TEST_CASE("the job cache's own files are not opened, under no name") {
  Files f;
  returner::Options options;
  options.sqlite3.database = f.dir / "cache/jobs.db";
  options.master_job_cache = "sqlite3";
  f.minion.keep_jobs(options);
  std::filesystem::create_symlink("cache/jobs.db", f.dir / "other");
  const std::string refused = "Operation not permitted";
  for (const char* name : {"cache/jobs.db", "cache/jobs.db-wal", "cache/jobs.db-shm", "other"}) {
    CHECK_MESSAGE(f.with("contains", name, "\"x\"").find(refused) != std::string::npos, name);
    CHECK_MESSAGE(f.with("get_hash", name, "\"sha256\"").find(refused) != std::string::npos, name);
  }
  CHECK(f.ret("contains", "text").find(refused) == std::string::npos);
}

TEST_CASE("a path with many parts, or a long one, is nothing special") {
  Files f;
  const std::string slashes(4000, '/');
  CHECK(f.minion.ret("file.path_exists_glob", quoted(slashes)) == "true");
  std::string dots;
  for (int i = 0; i < 2000; ++i) dots += "./";
  CHECK(f.minion.ret("file.path_exists_glob", quoted(std::string(dots))) == "true");
  std::string stars;
  for (int i = 0; i < 1000; ++i) stars += "*/";
  CHECK_FALSE(f.minion.run("file.path_exists_glob", quoted((f.dir / "") + stars)).ret.text() == "true");
  CHECK(f.minion.sentence("file.file_exists", quoted(std::string(5000, 'x'))).find("File name too long") !=
        std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::embedded
