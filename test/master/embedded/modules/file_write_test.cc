// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "../../../support/execution.h"
#include "../../../support/temp_dir.h"

namespace rest_fcgi::embedded {
namespace {

const std::string kException = "The minion function caused an exception: ";

/// A folder `root` that `file` may change, and things outside of it.
struct Root {
  Root() {
    std::filesystem::create_directories(dir / "root/sub");
    (void)dir.write("outside", "safe\n");
    std::filesystem::create_directory(dir / "other");
    std::filesystem::create_symlink(dir / "other", dir / "root/out");
    std::filesystem::create_symlink(dir / "outside", dir / "root/link");
  }
  static ModuleOptions options(const std::string& root) {
    ModuleOptions made;
    made.file_root = root;
    return made;
  }
  std::string ret(const std::string& fun, const std::string& path, const std::string& more = "") {
    return minion.ret("file." + fun, "[\"" + (dir / path) + "\"" + more + "]");
  }
  std::string says(const std::string& fun, const std::string& path, const std::string& more = "") {
    return minion.sentence("file." + fun, "[\"" + (dir / path) + "\"" + more + "]");
  }
  test::TempDir dir;
  test::Execution minion{"{}", options(dir / "root")};
};

constexpr std::array<const char*, 5> kChanging = {"write", "append", "touch", "mkdir", "remove"};

TEST_CASE("lines are written in place of what a file held, and appended") {
  Root r;
  CHECK(r.says("write", "root/f", R"(, "one", 2, null)") ==
        "Wrote 3 lines to \"" + (r.dir / "root/f") + "\"");
  CHECK(r.dir.read("root/f") == "one\n2\nNone\n");
  CHECK(r.minion.sentence("file.write", "[\"" + (r.dir / "root/f") + "\"]", R"({"args": ["a", "b"]})")
            .starts_with("Wrote 2"));
  CHECK(r.dir.read("root/f") == "a\nb\n");
  CHECK(r.says("append", "root/f", R"(, "c")").starts_with("Wrote 1"));
  (void)r.dir.write("root/g", "no end");
  CHECK(r.minion.sentence("file.append", "[\"" + (r.dir / "root/g") + "\"]", R"({"args": "d"})")
            .starts_with("Wrote 1"));
  CHECK(r.dir.read("root/f") == "a\nb\nc\n");
  CHECK(r.dir.read("root/g") == "no end\nd\n");
  CHECK(r.says("append", "root/nosuch", R"(, "c")").starts_with(kException + "FileNotFoundError"));
}

TEST_CASE("a file is made, and its times are set") {
  Root r;
  CHECK(r.ret("touch", "root/stamp") == "true");
  CHECK(r.ret("touch", "root/stamp", R"(, 5, "6")") == "true");
  struct stat status {};
  REQUIRE(::stat((r.dir / "root/stamp").c_str(), &status) == 0);
  CHECK(status.st_atime == 5);
  CHECK(status.st_mtime == 6);
  CHECK(r.says("touch", "root/stamp", R"(, "x")") ==
        "ERROR executing 'file.touch': atime and mtime must be integers");
}

TEST_CASE("folders are made with those above them, and removed with what is in them") {
  Root r;
  CHECK(r.ret("mkdir", "root/a/b/c", ", null, null, 750") == "true");
  CHECK(r.ret("mkdir", "root/a") == "true");
  struct stat status {};
  REQUIRE(::stat((r.dir / "root/a/b/c").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777U) == 0750);
  (void)r.dir.write("root/a/b/c/f", "x");
  std::filesystem::create_symlink(r.dir / "other", r.dir / "root/a/b/away");
  (void)r.dir.write("other/kept", "x");
  CHECK(r.ret("remove", "root/a") == "true");
  CHECK_FALSE(std::filesystem::exists(r.dir / "root/a"));
  CHECK(r.dir.read("other/kept") == "x");
  CHECK(r.ret("remove", "root/a") == "false");
  CHECK(r.says("mkdir", "root/x", R"(, "root")")
            .starts_with("ERROR: file.mkdir: user and group are not changed here"));
  CHECK(r.says("mkdir", "root/x", R"(, null, null, "9")") ==
        "ERROR executing 'file.mkdir': found the mode 9, expected octal digits");
  (void)r.dir.write("root/file", "");
  CHECK(r.says("mkdir", "root/file").starts_with(kException + "FileExistsError"));
}

TEST_CASE("a link is removed, and not what it leads to") {
  Root r;
  CHECK(r.ret("remove", "root/link") == "true");
  CHECK(r.ret("remove", "root/out") == "true");
  CHECK(r.dir.read("outside") == "safe\n");
  CHECK(std::filesystem::exists(r.dir / "other"));
}

TEST_CASE("nothing outside the root is changed, whatever the path") {
  Root r;
  for (const char* fun : kChanging) {
    CAPTURE(fun);
    for (const char* path : {"outside", "root", "root/", "root/.", "root2/f", "other/f"}) {
      CAPTURE(path);
      CHECK(r.says(fun, path).find("expected one below rest_fcgi: embedded: file_root, ") !=
            std::string::npos);
    }
    for (const char* path : {"root/../outside", "root/sub/../../outside", "root/.."}) {
      CAPTURE(path);
      CHECK(r.says(fun, path).find("no path with .. is taken here") != std::string::npos);
    }
    CHECK(r.says(fun, "root/out/f").starts_with(kException));
  }
  for (const char* fun : {"write", "append", "touch"})
    CHECK(r.says(fun, "root/link").starts_with(kException + "OSError: [Errno 40]"));
  CHECK(r.dir.read("outside") == "safe\n");
  CHECK(std::filesystem::is_empty(r.dir / "other"));
}

TEST_CASE("what is no regular file is not written") {
  Root r;
  REQUIRE(::mkfifo((r.dir / "root/pipe").c_str(), 0600) == 0);
  for (const char* fun : {"write", "append", "touch"})
    CHECK(r.says(fun, "root/pipe").starts_with(kException + "OSError: "));
  CHECK(r.says("write", "root/sub").starts_with(kException + "IsADirectoryError"));
}

TEST_CASE("a folder that is too deep is not removed") {
  Root r;
  std::string deep = "root";
  for (int i = 0; i < 105; ++i) deep += "/d";
  std::filesystem::create_directories(r.dir / deep);
  CHECK(r.says("remove", "root/d")
            .starts_with("ERROR: Could not remove '" + (r.dir / "root/d") + "': [Errno 40]"));
}

TEST_CASE("removing ends early when the engine stops") {
  Root r;
  (void)r.dir.write("root/sub/f", "");
  std::stop_source source;
  source.request_stop();
  CHECK_FALSE(
      r.minion.run("file.remove", "[\"" + (r.dir / "root/sub") + "\"]", "{}", source.get_token()).success);
  CHECK(std::filesystem::exists(r.dir / "root/sub/f"));
}

TEST_CASE("without a root these functions are off, and say which key turns them on") {
  test::Execution m;
  for (const char* fun : kChanging) {
    CHECK(m.sentence("file." + std::string(fun), R"(["/tmp/x"])") ==
          "ERROR: file." + std::string(fun) +
              " is off: set rest_fcgi: embedded: file_root to the folder below which it may change files");
  }
}

TEST_CASE("a root that is not there is an error, and a path that is no text, too") {
  test::Execution m("{}", Root::options("/no/such/root"));
  for (const char* fun : kChanging) {
    if (std::string(fun) == "mkdir") continue;
    CHECK(m.sentence("file." + std::string(fun), R"(["/no/such/root/x"])")
              .starts_with(kException + "FileNotFoundError"));
    CHECK(m.sentence("file." + std::string(fun), "[5]").starts_with("Passed invalid arguments to file."));
  }
  CHECK(m.sentence("file.mkdir", R"(["/no/such/root/x/y"])").starts_with(kException));
}

TEST_CASE("folders are made no deeper than they can be removed") {
  Root r;
  std::string deep = "root";
  for (int i = 0; i < 101; ++i) deep += "/d";
  CHECK(r.says("mkdir", deep).find("at most 100 folders below each other") != std::string::npos);
  CHECK(r.ret("remove", "root/d") == "false");
}

TEST_CASE("a folder gets the mode that is asked for, but nobody's identity with it") {
  Root r;
  REQUIRE(r.ret("mkdir", "root/m", ", null, null, \"7750\"") == "true");
  struct stat status {};
  REQUIRE(::stat((r.dir / "root/m").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 01750);
  CHECK(r.says("mkdir", "root/n", ", null, null, \"" + std::string(100000, 'o') + "\"")
            .find("expected octal digits") != std::string::npos);
}

}  // namespace
}  // namespace rest_fcgi::embedded
