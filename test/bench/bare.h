// SPDX-License-Identifier: MIT
// A plain libfcgi responder that reads the body and sends a constant reply, for bare.cc and least.cc.
#pragma once

#include <fcgiapp.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <vector>

namespace bench {

inline constexpr char kReply[] =
    "Status: 200 OK\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: 56\r\n"
    "\r\n"
    "{\"return\": [{\"ms-0\": true, \"ms-1\": true, \"ms-2\": true}]}";

inline constexpr int kMostBytes = 65536;        // bytes per read
inline constexpr std::size_t kBehindBody = 64;  // simdjson reads beyond the end of its input

inline int listen_at(const char* path) {
  FCGX_Init();
  const int socket = FCGX_OpenSocket(path, 1024);
  if (socket < 0) {
    std::cerr << "no socket at " << path << '\n';
    std::exit(EXIT_FAILURE);
  }
  ::chmod(path, 0666);
  return socket;
}

/// The loop of one thread. Calls `work` before each reply with the last part of the body, which is the whole
/// body up to `kMostBytes`.
template <class Work>
void serve(int socket, Work work) {
  FCGX_Request request;
  FCGX_InitRequest(&request, socket, 0);
  std::vector<char> body(kMostBytes + kBehindBody);
  while (FCGX_Accept_r(&request) == 0) {
    int size = 0;
    while (const int got = FCGX_GetStr(body.data(), kMostBytes, request.in)) size = got;
    work(body.data(), static_cast<std::size_t>(size));
    FCGX_PutStr(kReply, sizeof(kReply) - 1, request.out);
    FCGX_Finish_r(&request);
  }
}

}  // namespace bench
