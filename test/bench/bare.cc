// SPDX-License-Identifier: MIT
// A minimal FastCGI server, with which the benchmark compares rest_fcgi. It uses only libfcgi, reads the body
// of a request and sends a constant reply. Usage: bare SOCKET THREADS
#include <fcgiapp.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

namespace {

constexpr char kReply[] =
    "Status: 200 OK\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 56\r\n"
    "\r\n"
    "{\"return\": [{\"ms-0\": true, \"ms-1\": true, \"ms-2\": true}]}";

void serve(int socket) {
  FCGX_Request request;
  FCGX_InitRequest(&request, socket, 0);
  std::array<char, 65536> body{};
  while (FCGX_Accept_r(&request) == 0) {
    while (FCGX_GetStr(body.data(), static_cast<int>(body.size()), request.in) != 0) continue;
    FCGX_PutStr(kReply, sizeof(kReply) - 1, request.out);
    FCGX_Finish_r(&request);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare SOCKET THREADS\n";
    return EXIT_FAILURE;
  }
  FCGX_Init();
  const int socket = FCGX_OpenSocket(argv[1], 1024);
  if (socket < 0) {
    std::cerr << "no socket at " << argv[1] << '\n';
    return EXIT_FAILURE;
  }
  ::chmod(argv[1], 0666);
  std::vector<std::jthread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) threads.emplace_back(serve, socket);
}
