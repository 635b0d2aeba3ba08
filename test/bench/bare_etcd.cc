// SPDX-License-Identifier: MIT
// The rival for jobs in etcd: sends recorded requests one after the other over a kept connection and checks
// only their status. Prints the seconds. Usage: bare_etcd URL FILE. The file has a line `PATH LENGTH` before
// each body.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <curl/curl.h>

namespace {

struct Request {
  std::string url;
  std::string body;
};

std::vector<Request> read(const std::string& base, const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Request> requests;
  std::string target;
  for (std::size_t length = 0; file >> target >> length;) {
    file.get();
    std::string body(length, '\0');
    file.read(body.data(), static_cast<std::streamsize>(length));
    requests.push_back({base + target, std::move(body)});
  }
  return requests;
}

std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
  return size * count;
}

bool send(CURL* curl, const Request& request) {
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  long status = 0;
  return curl_easy_perform(curl) == CURLE_OK &&
         curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK && status == 200;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bare_etcd URL FILE\n";
    return EXIT_FAILURE;
  }
  const std::vector<Request> requests = read(argv[1], argv[2]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURL* const curl = curl_easy_init();
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, drop);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  const auto start = std::chrono::steady_clock::now();
  for (const Request& request : requests) {
    if (send(curl, request)) continue;
    std::cerr << "refused: " << request.body.substr(0, 200) << "\n";
    return EXIT_FAILURE;
  }
  std::cout << std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() << "\n";
  curl_easy_cleanup(curl);
}
