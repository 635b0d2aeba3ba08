// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "helper/pam.h"
#include "helper/stream.h"
#include "rest_fcgi/auth/pam_wire.h"
#include "rest_fcgi/core/secret.h"

// The one program that talks to PAM: its modules are not thread-safe, and many of them want root. It reads
// requests from standard input and writes answers to standard output, one after the other, until the input
// ends. The responder starts it, or a socket unit does, for each connection.

namespace rest_fcgi::helper {
namespace {

constexpr unsigned kLongestRequest = 60;  // seconds; the responder has given up long before

constexpr const char* kUsage =
    "Usage: rest_fcgi_pam [--confdir DIR] [--peer USER]\n"
    "Answers requests of rest_fcgi about system users on standard input and output.\n\n"
    "  --confdir DIR  where the files of PAM services are, instead of /etc/pam.d\n"
    "  --peer USER    answer only this user and root at the other end of the socket\n";

struct Arguments {
  std::string confdir;
  std::string peer;
};

std::optional<Arguments> read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc || *argv[i + 1] == '\0') return std::nullopt;
    if (option == "--confdir") {
      arguments.confdir = argv[i + 1];
    } else if (option == "--peer") {
      arguments.peer = argv[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

int complain(const std::string& text) {
  std::fputs(("rest_fcgi_pam: " + text + "\n").c_str(), stderr);
  return EX_NOPERM;
}

/// No core dump and no debugger: passwords pass through here.
void harden() {
  constexpr rlimit kNone{0, 0};
  ::setrlimit(RLIMIT_CORE, &kNone);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
}

/// A descriptor of our own for the stream, which modules cannot print to and programs of theirs do not get.
int take(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/// Modules may read and print as they like: they find nothing, and go to the log.
bool give_away_standard_streams() {
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  return nothing >= 0 && ::dup2(nothing, STDIN_FILENO) == STDIN_FILENO &&
         ::dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO;
}

auth::pam::Answer answer(const auth::pam::Request& request, const std::string& confdir) {
  if (request.ask == auth::pam::Ask::verify) return verify(request, confdir);
  if (!auth::pam::is_service(request.service)) {
    return {auth::pam::Outcome::failed, "the service is no name of one", {}};
  }
  std::string cause = why_not(std::string(request.service), confdir);
  return {cause.empty() ? auth::pam::Outcome::good : auth::pam::Outcome::refused, std::move(cause), {}};
}

/// The body of the next frame, waited for; absent at the end of the stream, and for what is no frame.
std::optional<WipedBytes> read_body(int fd) {
  std::array<char, auth::pam::kHeader> header{};
  if (!read_all(fd, header.data(), header.size())) return std::nullopt;
  const auto size = auth::pam::body_size({header.data(), header.size()});
  if (!size) return std::nullopt;
  WipedBytes body(*size);
  if (!read_all(fd, body.data(), body.size())) return std::nullopt;
  return body;
}

int serve(int in, int out, const std::string& confdir) {
  while (const auto body = read_body(in)) {
    const auto request = auth::pam::read_request({body->data(), body->size()});
    if (!request) return complain("a request is none of this version");
    // A module that never comes back takes this process with it, not the responder's patience.
    ::alarm(kLongestRequest);
    WipedBytes frame = to_frame(answer(*request, confdir));
    ::alarm(0);
    if (frame.empty()) frame = to_frame(auth::pam::Answer{auth::pam::Outcome::failed, "too many groups", {}});
    if (!write_all(out, frame.data(), frame.size())) break;
  }
  return EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return EX_USAGE;
  }
  harden();
  if (!arguments->peer.empty() && !is_peer(arguments->peer)) {
    return complain("refused: standard input is no socket with the user " + arguments->peer +
                    " or root at its other end");
  }
  const int in = take(STDIN_FILENO);
  const int out = take(STDOUT_FILENO);
  if (in < 0 || out < 0 || !give_away_standard_streams()) return complain("there is no input or output");
  return serve(in, out, arguments->confdir);
}

}  // namespace
}  // namespace rest_fcgi::helper

int main(int argc, char** argv) try {
  return rest_fcgi::helper::run(argc, argv);
} catch (const std::exception& error) {
  return rest_fcgi::helper::complain(error.what());
}
