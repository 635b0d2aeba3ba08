// SPDX-License-Identifier: MIT
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "master/embedded/host/grains_parts.h"
#include "master/embedded/host/host_text.h"
#include "master/embedded/host/users.h"

namespace rest_fcgi::embedded {
namespace {

std::string_view environment(const char* name, std::string_view otherwise) {
  const char* value = ::getenv(name);
  return value == nullptr ? otherwise : value;
}

/// What is process 1? Salt looks into the program's file where this does not tell.
std::string_view init_system() {
  struct stat status {};
  if (::stat("/run/systemd/system", &status) == 0) return "systemd";
  std::string command = read_text("/proc/1/cmdline", 4096).value_or("");
  std::replace(command.begin(), command.end(), '\0', ' ');
  for (const std::string_view word : words_of(command)) {
    const std::string_view program = word.substr(word.rfind('/') + 1);
    for (const std::string_view known : {"supervisord", "dumb-init", "tini", "runit"}) {
      if (program == known) return known;
    }
    if (word == "/sbin/my_init") return "runit";
  }
  return "unknown";
}

}  // namespace

void write_process_grains(JsonWriter& writer) {
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  writer.key("uid").integer(uid);
  writer.key("gid").integer(gid);
  writer.key("username").string(user_name(uid).value_or(""));
  writer.key("groupname").string(group_name(gid).value_or(""));
  writer.key("pid").integer(::getpid());
  std::string_view path = stripped(environment("PATH", ""));
  writer.key("path").string(path);
  writer.key("systempath").begin_array();
  for (std::size_t end = path.find(':'); end != std::string_view::npos; end = path.find(':')) {
    writer.string(path.substr(0, end));
    path.remove_prefix(end + 1);
  }
  writer.string(path).end_array();
  writer.key("shell").string(environment("SHELL", "/bin/sh"));
}

void write_init_grains(JsonWriter& writer) {
  writer.key("init").string(init_system());
  for (const char* file : {"/etc/machine-id", "/var/lib/dbus/machine-id"}) {
    const auto id = read_text(file, 4096);
    if (!id) continue;
    writer.key("machine_id").string(stripped(*id));
    return;
  }
}

}  // namespace rest_fcgi::embedded
