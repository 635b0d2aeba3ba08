// SPDX-License-Identifier: MIT
// The rival of rest_fcgi: a responder with libfcgi alone. Usage: bare SOCKET THREADS
#include "bare.h"

#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare SOCKET THREADS\n";
    return EXIT_FAILURE;
  }
  const int socket = bench::listen_at(argv[1]);
  const auto nothing = [](const char* /*body*/, std::size_t /*size*/) {};
  std::vector<std::jthread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) threads.emplace_back([&] { bench::serve(socket, nothing); });
}
