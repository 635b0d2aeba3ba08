// SPDX-License-Identifier: MIT
#include "master/salt/ssh_client.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stop_token>
#include <system_error>
#include <utility>

#include "rest_fcgi/core/files.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/helper_process.h"
#include "rest_fcgi/core/json_document.h"
#include "rest_fcgi/core/log.h"

namespace rest_fcgi::salt {
namespace {

using process::Ended;
using std::chrono::milliseconds;

// The script prints at most this number of bytes in addition to its result.
constexpr std::size_t kEnvelope = 64;
constexpr std::size_t kFirstLine = 4096;  // The largest size of a script's first line in bytes.

Error unavailable(std::string sentence) {
  return {ErrorKind::unavailable, std::move(sentence)};
}

/// Returns the error of a file of this host. The log gets the path of the file, and the caller does not.
Error unusable(std::string_view file, const std::string& path, std::string_view why) {
  log::warning(format("the client ssh is not available: {} {}: {}", file, path, why));
  return unavailable(format("The client ssh is not available: {} of this server: {}.", file, why));
}

/// Returns why this process cannot run a program, or std::nullopt.
std::optional<std::string> why_unusable(const std::string& path) {
  if (::access(path.c_str(), X_OK) != 0) return errno_text();
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  return "found another kind of file, expected a program";
}

bool is_program(const std::string& path) {
  return !why_unusable(path);
}

std::optional<std::string> in_search_path(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr && *path != '\0' ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/')) continue;
    folder.append("/").append(name);
    if (is_program(folder)) return folder;
  }
  return std::nullopt;
}

/// Returns the path of the Python that the first line of a script names. The line contains this path, or it
/// runs env(1) with the name of the Python. Returns std::nullopt if the line names no Python.
std::optional<std::string> named_by_first_line(std::ifstream& script) {
  std::string text(kFirstLine, '\0');
  script.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(script.gcount()));
  if (!text.starts_with("#!")) return std::nullopt;
  std::istringstream words(text.substr(2, std::min(text.find('\n'), text.size()) - 2));
  for (std::string word; words >> word;) {
    const std::string name = word.substr(word.rfind('/') + 1);
    if (name == "env" || word.starts_with('-')) continue;
    if (!name.starts_with("python")) return std::nullopt;
    return word.starts_with('/') ? word : in_search_path(name);
  }
  return std::nullopt;
}

/// A relative path would name another file, because programs run in `/`.
std::string whole_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.string();
}

std::optional<Error> bad_end(const Ended& ended) {
  switch (ended.how) {
    case Ended::How::timed_out:
      return Error{ErrorKind::timeout,
                   "The client ssh did not end within the time limit of its request (request_timeout)."};
    case Ended::How::stopped:
      return unavailable("The client ssh was ended, because the server is shutting down.");
    case Ended::How::killed:
      return Error{ErrorKind::internal, format("the client ssh was ended by signal {}", -ended.code)};
    case Ended::How::exited:
      break;
  }
  if (ended.output_cut)
    return Error{ErrorKind::reply_too_large,
                 "The reply of the client ssh is larger than the request allows (max_reply_bytes)."};
  if (ended.code == 0) return std::nullopt;
  return Error{ErrorKind::internal, format("the client ssh ended with the status {}", ended.code)};
}

ErrorKind kind_named(std::string_view kind) {
  if (kind == "invocation") return ErrorKind::invocation;
  return kind == "unavailable" ? ErrorKind::unavailable : ErrorKind::internal;
}

Result<Json> answer_in(const std::string& output) {
  JsonDocument document;
  if (document.parse(output, JsonLimits::none())) {
    if (const auto reply = document.root().find("return")) return reply->json();
    if (const auto error = document.root().find("error")) {
      const auto kind = document.root().find("kind").value_or(JsonValue());
      const auto detail = document.root().find("detail").value_or(JsonValue());
      if (!detail.text().empty()) log::warning(format("the client ssh: {}", detail.text()));
      return Error{kind_named(kind.text()), std::string(error->text())};
    }
  }
  return Error{ErrorKind::internal,
               format("the client ssh wrote {} bytes, expected a JSON reply", output.size())};
}

}  // namespace

Json ssh_request(const lowstate::LocalCall& call, std::string_view jid) {
  const lowstate::Function& function = call.functions.front();
  return written_object([&](JsonWriter& writer) {
    call.target.as_sent.write(writer.key("tgt"));
    writer.key("tgt_type").string(name_of(call.target.type)).key("fun").string(function.name);
    writer.key("arg").begin_array();
    for (const JsonValue& value : function.args) value.write(writer);
    writer.end_array().key("kwarg").begin_object();
    for (const auto& [key, value] : function.kwargs) value.write(writer.key(key));
    writer.end_object().key("jid").string(jid);
    if (call.timeout) {
      writer.key("timeout").integer(std::chrono::ceil<std::chrono::seconds>(*call.timeout).count());
    }
    if (!call.roster.empty()) writer.key("roster").string(call.roster);
    if (!call.roster_file.empty()) writer.key("roster_file").string(call.roster_file);
  });
}

Result<std::string> python_of(const std::string& script) {
  std::ifstream file(script, std::ios::binary);
  if (!file) return unusable("salt-ssh", script, errno_text());
  std::optional<Error> bad;
  if (auto named = named_by_first_line(file)) {
    const auto why = why_unusable(*named);
    if (!why) return *std::move(named);
    bad = unusable("the Python of salt-ssh", *named, *why);
  }
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::canonical(script, ignored).parent_path();
  for (const char* const name : {"python3", "bin/python3"}) {
    std::string beside = folder / name;
    if (!folder.empty() && is_program(beside)) return beside;
  }
  return bad ? *std::move(bad) : unusable("salt-ssh", script, "its first line names no Python");
}

SshClient::SshClient(SshOptions options, const std::string& conf_file)
    : options_(std::move(options)),
      conf_file_(whole_path(conf_file)),
      programs_(options_.run_helper.empty() ? shipped("rest_fcgi_run") : options_.run_helper),
      limiter_({.what = "calls of the client ssh",
                .classes = {{.at_once = options_.max_running, .waiting = Limiter::kUnlimited}}}) {}

Result<std::string> SshClient::python() const {
  if (!options_.program.empty()) {
    if (const auto why = why_unusable(options_.program)) {
      return unusable("the program of salt_ssh: program", options_.program, *why);
    }
    return python_of(options_.program);
  }
  if (const auto found = in_search_path("salt-ssh")) return python_of(*found);
  return unavailable("salt-ssh is not installed on this host.");
}

Result<Json> SshClient::run(const lowstate::LocalCall& call, std::string_view jid, SteadyTime deadline,
                            std::size_t max_bytes, const std::stop_token& stop) const {
  auto python = this->python();
  if (!python) return std::move(python).error();
  const auto pass = limiter_.enter(0, {}, deadline);
  if (!pass) {
    return Error{ErrorKind::timeout, format("The client ssh was not started in time: the largest number of "
                                            "calls ran already (salt_ssh: max_running: {}).",
                                            options_.max_running)};
  }
  process::Program program;
  program.argv = {*std::move(python), "-I", shipped("salt_ssh_client.py"), conf_file_};
  program.inherit = true;
  program.umask = 077;  // Only the user of this process can read the files that Salt writes for the call.
  program.input = ssh_request(call, jid).text();
  program.output_limit = max_bytes + kEnvelope;
  program.time_limit =
      std::max(milliseconds(1), std::chrono::ceil<milliseconds>(deadline - system_clock().steady()));
  const Result<Ended> ended = programs_.run(program, stop);
  if (!ended) {
    log::warning(format("the client ssh cannot run: {}", ended.error().message));
    return unavailable(
        "The client ssh is not available: its program cannot be started (salt_ssh: run_helper).");
  }
  if (auto bad = bad_end(*ended)) return *std::move(bad);
  return answer_in(ended->output);
}

}  // namespace rest_fcgi::salt
