// SPDX-License-Identifier: MIT
#include <fcgiapp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "../../support/fcgi_client.h"
#include "gateway/fastcgi/incoming.h"
#include "gateway/fastcgi/request.h"
#include "gateway/sys.h"

using rest_fcgi::UniqueFd;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::test;
using Stage = RecordFilter::Stage;

namespace {

std::string padded(std::string record, char size) {
  record[6] = size;
  return record.append(static_cast<std::size_t>(size), 'p');
}

/// Why the last byte of `bytes` is refused; the ones before it pass.
std::string problem(const std::string& bytes) {
  RecordFilter filter;
  CHECK(filter.problem().empty());
  CHECK(filter.pass(std::string_view(bytes).substr(0, bytes.size() - 1)));
  CHECK(!filter.pass(std::string_view(bytes).substr(bytes.size() - 1)));
  CHECK(filter.stage() == Stage::refused);
  CHECK(!filter.pass(post("fine")));
  return filter.problem();
}

std::string variable_lengths(std::uint32_t name, std::uint32_t value) {
  std::string out;
  for (const std::uint32_t length : {name, value}) {
    for (const int shift : {24, 16, 8, 0})
      out += static_cast<char>(static_cast<unsigned char>(length >> shift));
    out[out.size() - 4] = static_cast<char>(static_cast<unsigned char>(length >> 24) | 0x80U);
  }
  return out;
}

std::string params_begin(const std::string& content) {
  return begin_request(false) + record(kParams, content).substr(0, 8 + content.size());
}

/// What a stream of records is, by the plain words of the specification and of RecordFilter.
struct Reading {
  bool refused = false;
  bool complete = false;
  std::vector<std::string> variables;  ///< name=value
  std::string body;
};

std::size_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + size; ++i) value = (value << 8) + static_cast<unsigned char>(bytes[i]);
  return value;
}

/// A length at the front of `params`, which it is cut off from. None: it is not whole.
std::optional<std::size_t> take_length(std::string_view& params) {
  const bool is_long = !params.empty() && (number(params, 0, 1) & 0x80U) != 0;
  const std::size_t size = is_long ? 4 : 1;
  if (params.size() < size) return std::nullopt;
  const std::size_t length = number(params, 0, size) & (is_long ? 0x7FFFFFFFU : 0x7FU);
  params.remove_prefix(size);
  return length;
}

void read_variables(std::string_view params, bool ended, Reading& reading) {
  std::size_t sum = 0;
  while (!params.empty()) {
    const auto name = take_length(params);
    reading.refused = reading.refused || (name && ((sum += *name) > RecordFilter::kMaxVariablesSize));
    const auto value = name ? take_length(params) : std::nullopt;
    reading.refused = reading.refused || (value && ((sum += *value) > RecordFilter::kMaxVariablesSize));
    if (reading.refused) return;
    if (!name || !value || params.size() < *name + *value) {
      reading.refused = ended;
      return;
    }
    reading.variables.push_back(std::string(params.substr(0, *name)) + "=" +
                                std::string(params.substr(*name, *value)));
    params.remove_prefix(*name + *value);
  }
}

bool allowed(int type, std::size_t size, std::size_t padding, Stage stage) {
  if (stage == Stage::begin) return type == kBeginRequest && size == 8 && padding == 0;
  return stage == Stage::params ? type == kParams && (size != 0 || padding == 0) : type == kStdin;
}

Reading read_plainly(std::string_view bytes) {
  Reading reading;
  Stage stage = Stage::begin;
  std::string params;
  std::size_t id = 0;
  while (bytes.size() >= 8 && stage != Stage::complete && !reading.refused) {
    const std::size_t size = number(bytes, 4, 2);
    const std::size_t padding = number(bytes, 6, 1);
    if (stage == Stage::begin) id = number(bytes, 2, 2);
    reading.refused = number(bytes, 0, 1) != 1 || id == 0 || number(bytes, 2, 2) != id ||
                      !allowed(static_cast<int>(number(bytes, 1, 1)), size, padding, stage);
    const std::string_view content = bytes.substr(8, size);
    if (stage == Stage::params) params += content;
    if (stage == Stage::body) reading.body += content;
    if (stage == Stage::begin || size == 0) stage = static_cast<Stage>(static_cast<int>(stage) + 1);
    bytes.remove_prefix(std::min(bytes.size(), 8 + size + padding));
  }
  read_variables(params, stage > Stage::params, reading);
  reading.complete = stage == Stage::complete && !reading.refused;
  return reading;
}

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t end) {
  return random() % end;
}

std::string in_records(Random& random, int type, std::string_view content) {
  std::string out;
  while (!content.empty()) {
    const std::string_view part = content.substr(0, 1 + below(random, content.size()));
    out += padded(record(type, part), static_cast<char>(below(random, 9)));
    content.remove_prefix(part.size());
  }
  return out + record(type, {});
}

std::string random_request(Random& random) {
  Variables variables;
  for (std::size_t i = below(random, 6); i != 0; --i) {
    variables.emplace_back(std::string(1 + below(random, 20), 'N'), std::string(below(random, 200), 'v'));
  }
  return begin_request(false) + in_records(random, kParams, name_values(variables)) +
         in_records(random, kStdin, std::string(below(random, 300), 'b'));
}

/// Changes a few bytes, in favour of those that mean something.
void spoil(Random& random, std::string& bytes) {
  constexpr std::array<char, 8> kTelling = {0, 1, 2, 4, 5, 9, 127, static_cast<char>(0x80)};
  for (std::size_t i = below(random, 3); i != 0; --i) {
    char& byte =
        bytes[below(random, below(random, 2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 40))];
    byte = below(random, 4) == 0 ? static_cast<char>(static_cast<unsigned char>(below(random, 256)))
                                 : kTelling[below(random, kTelling.size())];
  }
  if (below(random, 8) == 0) bytes.resize(below(random, bytes.size()));
}

bool passes_in_pieces(Random& random, RecordFilter& filter, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, 1 + below(random, bytes.size()));
    bytes.remove_prefix(part.size());
    if (!filter.pass(part)) return false;
  }
  return true;
}

/// What libfcgi reads behind a filter. REQUIRES: `bytes` fit into a socket's buffer.
Reading read_by_libfcgi(const std::string& bytes) {
  Reading reading;
  std::array<int, 2> ends = {};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  UniqueFd peer(ends[1]);
  REQUIRE(::send(peer.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  peer.reset();
  const Incoming incoming(ends[0], std::chrono::seconds(60));
  FCGX_Request request;
  FCGX_InitRequest(&request, -1, 0);
  request.ipcFd = ends[0];
  request.keepConnection = 1;
  request.detached = 1;
  reading.refused = FCGX_Accept_r(&request) != 0;
  if (reading.refused) return reading;
  // The first one is FCGI_ROLE, libfcgi's own.
  for (char** variable = request.envp + 1; *variable != nullptr; ++variable) {
    reading.variables.emplace_back(*variable);
  }
  for (int c = FCGX_GetChar(request.in); c != EOF; c = FCGX_GetChar(request.in)) {
    reading.body += static_cast<char>(c);
  }
  reading.complete = FCGX_GetError(request.in) == 0;
  FCGX_Free(&request, 1);
  return reading;
}

}  // namespace

TEST_CASE("a web server's request passes, wherever it is cut") {
  const std::string bytes = begin_request(true) + padded(record(kParams, name_values({{"A", "b"}})), 4) +
                            params({{"LONG", std::string(300, 'x')}, {"EMPTY", ""}}) +
                            padded(record(kStdin, "body"), 7) + stdin_stream("more");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    RecordFilter filter;
    CHECK(filter.pass(std::string_view(bytes).substr(0, cut)));
    CHECK((filter.stage() == Stage::complete) == (cut == bytes.size()));
    CHECK(filter.pass(std::string_view(bytes).substr(cut)));
    CHECK(filter.stage() == Stage::complete);
    CHECK(filter.body_size() == 8);
  }
  RecordFilter filter;
  for (const char byte : bytes) CHECK(filter.pass({&byte, 1}));
  CHECK(filter.stage() == Stage::complete);
}

TEST_CASE("what comes after a request passes unseen") {
  RecordFilter filter;
  CHECK(filter.pass(post("x") + "GET / HTTP/1.1\r\n\r\n"));
  CHECK(filter.stage() == Stage::complete);
}

TEST_CASE("another version of a record is refused") {
  CHECK(problem(std::string(7, 'G') + "G") == "the version of a record has to be 1; found 71");
  CHECK(problem(std::string(8, '\0')) == "the version of a record has to be 1; found 0");
}

TEST_CASE("management records are refused wherever they stand") {
  const std::string rule = "management records such as FCGI_GET_VALUES are not answered; found ";
  CHECK(problem(record(kGetValues, "", 0)) == rule + "9");
  CHECK(problem(begin_request(false) + record(77, "", 0)) == rule + "77");
  CHECK(problem(begin_request(false) + params({}) + record(kGetValues, "", 0)) == rule + "9");
  CHECK(problem(begin_request(false, 1, 0).substr(0, 8)) == rule + "1");
}

TEST_CASE("a request that does not begin is refused") {
  CHECK(problem(record(kParams, "")) ==
        "a request has to begin with a record of type 1, FCGI_BEGIN_REQUEST; found 4");
}

TEST_CASE("an FCGI_BEGIN_REQUEST of another size, or padded, is refused") {
  CHECK(problem(record(kBeginRequest, "1234567").substr(0, 8)) ==
        "FCGI_BEGIN_REQUEST has to have 8 bytes; found 7");
  CHECK(problem(padded(record(kBeginRequest, "12345678"), 3).substr(0, 8)) ==
        "FCGI_BEGIN_REQUEST must not be padded; found 3");
}

TEST_CASE("a second request on the connection is refused while the first comes in") {
  const std::string rule = "a connection carries one request at a time; found 2";
  CHECK(problem(begin_request(false) + begin_request(false, 1, 2).substr(0, 8)) == rule);
  CHECK(problem(begin_request(false) + params({}) + record(kStdin, "", 2)) == rule);
}

TEST_CASE("records out of their order are refused") {
  const std::string in_params = "variables have to come in records of type 4, FCGI_PARAMS; found ";
  const std::string in_body = "a body has to come in records of type 5, FCGI_STDIN; found ";
  CHECK(problem(begin_request(false) + record(kStdin, "")) == in_params + "5");
  CHECK(problem(begin_request(false) + begin_request(false).substr(0, 8)) == in_params + "1");
  CHECK(problem(begin_request(false) + params({}) + record(kAbortRequest, "")) == in_body + "2");
  CHECK(problem(begin_request(false) + params({}) + record(kData, "")) == in_body + "8");
}

TEST_CASE("lengths beyond what a request may have are refused before any text comes") {
  const std::string rule = "the variables of a request may have 262144 bytes; found ";
  constexpr std::uint32_t kMost = 0x7FFFFFFF;
  CHECK(problem(params_begin(variable_lengths(kMost, 0).substr(0, 4))) == rule + "2147483647");
  CHECK(problem(params_begin(variable_lengths(0x30000000, 0).substr(0, 4))) == rule + "805306368");
  CHECK(problem(params_begin(variable_lengths(1, kMost))) == rule + "2147483648");
  CHECK(problem(params_begin(variable_lengths(131072, 131073))) == rule + "262145");
  RecordFilter filter;
  CHECK(filter.pass(params_begin(variable_lengths(131072, 131072))));
}

TEST_CASE("variables that are too many bytes together are refused") {
  const std::string half = name_values({{"N", std::string(59999, 'v')}});
  std::string bytes = begin_request(false);
  for (int i = 0; i < 4; ++i) bytes += record(kParams, half);
  CHECK(problem(bytes + record(kParams, variable_lengths(1, 30000))) ==
        "the variables of a request may have 262144 bytes; found 270001");
}

TEST_CASE("a thousand variables pass, and one more is refused") {
  std::string thousand;
  for (int i = 0; i < 1000; ++i) thousand += name_values({{"", ""}});
  RecordFilter filter;
  CHECK(filter.pass(begin_request(false) + record(kParams, thousand) + record(kParams, "")));
  CHECK(problem(begin_request(false) + record(kParams, thousand + '\0')) ==
        "a request may have 1000 variables; found 1001");
}

TEST_CASE("variables that end inside one are refused, and so is a padded end") {
  const std::string rule = "FCGI_PARAMS must not end inside a variable";
  for (const std::string& cut : {std::string("\x04"), std::string("\x80\x01"), std::string("\x04\x80"),
                                 std::string("\x04\x01"), std::string("\x04\x01NAME")}) {
    CHECK(problem(begin_request(false) + record(kParams, cut) + record(kParams, "")) == rule);
  }
  CHECK(problem(begin_request(false) + padded(record(kParams, ""), 8).substr(0, 8)) ==
        "the end of FCGI_PARAMS must not be padded; found 8");
}

TEST_CASE(
    "whatever passes, libfcgi reads as the specification says, and nothing else does it read as a request") {
  REQUIRE(init_libfcgi());
  Random random(20240229);
  int complete = 0;
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = random_request(random);
    spoil(random, bytes);
    const Reading plain = read_plainly(bytes);
    RecordFilter filter;
    CAPTURE(round);
    REQUIRE(passes_in_pieces(random, filter, bytes) == !plain.refused);
    REQUIRE((filter.stage() == Stage::complete) == plain.complete);
    refused += plain.refused;
    const Reading libfcgi = read_by_libfcgi(bytes);
    // libfcgi refuses another role than FastCGI's three, which the filter does not judge.
    const bool role = plain.complete && bytes[8] == 0 && bytes[9] >= 1 && bytes[9] <= 3;
    REQUIRE(libfcgi.complete == role);
    if (!role) continue;
    ++complete;
    REQUIRE(libfcgi.variables.size() == plain.variables.size());
    for (std::size_t i = 0; i < plain.variables.size(); ++i) {
      REQUIRE(libfcgi.variables[i] == std::string(plain.variables[i].c_str()));
    }
    REQUIRE(libfcgi.body == plain.body);
    REQUIRE(filter.body_size() == plain.body.size());
  }
  CHECK(complete > 1000);
  CHECK(refused > 500);
}

TEST_CASE("noise never passes for a request") {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(8 + below(random, 64), '\0');
    for (char& byte : bytes) byte = static_cast<char>(static_cast<unsigned char>(below(random, kMaxType)));
    RecordFilter filter;
    CHECK(passes_in_pieces(random, filter, bytes) == !read_plainly(bytes).refused);
    CHECK(filter.stage() != Stage::complete);
  }
}
