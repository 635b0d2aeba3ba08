// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>

#include "master/embedded/host/users.h"
#include "master/embedded/modules/cmd_run.h"
#include "master/embedded/modules/replies.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/unique_fd.h"

namespace rest_fcgi::embedded {
namespace {

constexpr std::array kParameters = {Parameter{"lang"}, Parameter{"code"}, Parameter{"cwd"},
                                    Parameter{"args"}};

/// A file in the temporary folder that nobody else may read, and that goes with this.
class CodeFile {
 public:
  CodeFile() : fd_(::mkostemp(path_.data(), O_CLOEXEC)) {}
  ~CodeFile() {
    if (fd_.is_open()) ::unlink(path_.c_str());
  }
  CodeFile(const CodeFile&) = delete;
  CodeFile& operator=(const CodeFile&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// False where the file is not there in full, which errno tells.
  bool write(std::string_view text) {
    while (fd_.is_open() && !text.empty()) {
      const ssize_t written = ::write(fd_.get(), text.data(), text.size());
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return fd_.is_open();
  }

  bool give_to(uid_t user) { return ::fchown(fd_.get(), user, static_cast<gid_t>(-1)) == 0; }

 private:
  std::string path_ = "/tmp/rest_fcgi_code.XXXXXX";
  UniqueFd fd_;
};

/// The program, the file, and what the call has for `args`.
Json command(std::string_view language, const std::string& path, const JsonValue& args) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array().string(language).string(path);
  if (args.is(JsonValue::Kind::string)) writer.string(args.text());
  for (const JsonValue arg : args.elements()) writer.string(arg.python_str());
  writer.end_array();
  return Json::trusted(std::move(text));
}

}  // namespace

Reply with_code_file(const Call& call, const std::function<Reply(const CmdOptions&)>& run) {
  CmdOptions options(call, kParameters);
  CodeFile file;
  bool is_ready = file.write(options["code"].python_str());
  const JsonValue runas = options["runas"];
  const auto user = runas.is(JsonValue::Kind::null) ? std::nullopt : user_id(runas.python_str());
  // Without the rights of root this fails, and so does what follows, which says so.
  if (is_ready && user && ::geteuid() == 0) is_ready = file.give_to(*user);
  if (!is_ready) return os_error(errno, file.path());
  JsonDocument document;
  static_cast<void>(document.parse(command(options["lang"].python_str(), file.path(), options["args"]).text())
                        .ok());  // written just now, so it parses
  for (const std::string_view name : {"lang", "code", "args"}) options.remove(name);
  options.set("cmd", document.root());
  return run(options);
}

}  // namespace rest_fcgi::embedded
