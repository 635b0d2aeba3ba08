// SPDX-License-Identifier: MIT
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "../../support/captured_log.h"
#include "../../support/certificates.h"
#include "../../support/child.h"
#include "gateway/http/server.h"
#include "http_peer.h"
#include "rest_fcgi/gateway/certificates.h"

using namespace rest_fcgi;
using namespace rest_fcgi::gateway;
using namespace rest_fcgi::gateway::test;
using namespace rest_fcgi::test;

namespace {

struct TestCertificates {
  TempDir dir;
  Certificates files = make_certificates(dir.path());
};
const TestCertificates& certificates() {
  static const TestCertificates made;
  return made;
}

Options with_tls() {
  Options options = with_http();
  options.http[0].ssl_crt = certificates().files.server_cert;
  options.http[0].ssl_key = certificates().files.server_key;
  options.http[0].ssl_chain = certificates().files.ca;
  return options;
}

std::string refusal(Options options) {
  const TempDir dir;
  options.listen = "unix:" + (dir / "s");
  const auto gateway = Gateway::open(options);
  REQUIRE(!gateway);
  CHECK(gateway.error().kind == ErrorKind::configuration);
  return gateway.error().message;
}

}  // namespace

TEST_CASE("a TLS port serves TLS 1.2 and 1.3 with large bodies, and refuses TLS 1.1") {
  Options options = with_tls();
  options.http[0].max_request_body_size = 3'000'000;
  const RunningGateway server(
      [](const http::Environ& request) {
        return http::Response{
            http::Status::ok, {{"X-Https", std::string(request.get("HTTPS"))}}, std::string(*request.body)};
      },
      options);
  const std::string large(2'500'000, 'x');
  for (const auto& [version, name] :
       {std::pair(TLS1_2_VERSION, "TLSv1.2"), std::pair(TLS1_3_VERSION, "TLSv1.3")}) {
    HttpPeer peer(port_of(options), true, version);
    REQUIRE(peer.connected());
    CHECK(peer.tls_version() == name);
    CHECK(peer.request(http_post("small")).header("X-Https") == "on");
    CHECK(peer.request(http_post(large)).body == large);
  }
  CHECK(!HttpPeer(port_of(options), true, TLS1_1_VERSION).connected());
}

TEST_CASE("HTTPS to a port without TLS is one warning that names TLS") {
  const Options options = with_http();
  const RunningGateway server(echo, options);
  for (int i = 0; i < 3; ++i) CHECK_FALSE(HttpPeer(port_of(options), true).connected());
  CHECK(server.log().count("the client speaks TLS (https://), but this port has no TLS") == 1);
  CHECK(HttpPeer(port_of(options)).request(http_get()).status == 200);
}

TEST_CASE("a TLS port answers plain HTTP with 400 and closes connections without a handshake") {
  Options options = with_tls();
  options.http.push_back(options.http[0]);
  options.http[1].port = unused_port();
  options.http[1].head_timeout = milliseconds(500);
  const RunningGateway server(echo, options);
  HttpPeer plain(port_of(options));
  const HttpReply reply = plain.request(http_get());
  CHECK(reply.status == 400);
  CHECK(reply.body.find("This port expects HTTPS") != std::string::npos);
  CHECK(plain.closed_within(kSoon));
  HttpPeer garbage(port_of(options));
  garbage.send(std::string(1000, '\xFF'));
  CHECK(garbage.closed_within(kSoon));
  HttpPeer half(options.http[1].port);
  half.send(std::string("\x16\x03\x01\x02\x00\x01", 6));
  HttpPeer silent(options.http[1].port);
  CHECK(half.closed_within(kSoon));
  CHECK(silent.closed_within(kSoon));
  HttpPeer broken(port_of(options), true);
  CHECK(::send(broken.fd(), "no record of TLS", 16, MSG_NOSIGNAL) == 16);
  CHECK(broken.closed_within(kSoon));
  CHECK(HttpPeer(port_of(options), true).request(http_post("after")).body == "after");
}

TEST_CASE("open refuses unusable certificates and keys with the option and the file") {
  const auto with = [](const std::string& crt, const std::string& key, const std::string& chain = {}) {
    Options options = with_tls();
    options.http[0].ssl_crt = crt;
    options.http[0].ssl_key = key;
    options.http[0].ssl_chain = chain;
    return refusal(options);
  };
  const Certificates& files = certificates().files;
  const std::string text = certificates().dir / "text";
  std::ofstream(text) << "no certificate\n";
  ::chmod(text.c_str(), 0600);
  CHECK(with("/none.pem", files.server_key) ==
        "rest_cherrypy: ssl_crt: /none.pem: No such file or directory");
  CHECK(with(text, files.server_key) == "rest_cherrypy: ssl_crt: " + text + ": no start line");
  CHECK(with(files.server_cert, text).find("rest_cherrypy: ssl_key: " + text + ": ") == 0);
  CHECK(with(files.server_cert, files.server_key, text) ==
        "rest_cherrypy: ssl_chain: " + text + ": no start line");
  const std::string weak = certificates().dir / "weak";
  REQUIRE(std::system(("openssl req -x509 -newkey rsa:512 -nodes -subj /CN=weak -keyout /dev/null -out " +
                       weak + " 2>/dev/null")
                          .c_str()) == 0);
  CHECK(with(files.server_cert, files.server_key, weak) ==
        "rest_cherrypy: ssl_chain: " + weak + ": ca key too small");
  CHECK(with(files.server_cert, files.client_key) == "rest_cherrypy: ssl_key: " + files.client_key +
                                                         ": it is not the key of the certificate " +
                                                         files.server_cert);
  CHECK(with(files.server_cert, "").find("rest_cherrypy: ssl_key: ") == 0);
  CHECK(with("", files.server_key).find("rest_cherrypy: ssl_crt: ") == 0);
}

TEST_CASE("check_certificate_times accepts a certificate only between notBefore and notAfter") {
  Options options;
  options.http.resize(2);
  options.http[1].name = "rest_cherrypy";
  options.http[1].ssl_crt = certificates().files.server_cert;
  const WallTime now = system_clock().wall();
  const auto times = *certificate_times(options);
  REQUIRE(times.size() == 1);
  CHECK(times.front().name == "rest_cherrypy");
  CHECK(times.front().until - now > std::chrono::hours(47));
  CHECK(times.front().until - now <= std::chrono::hours(48));
  CHECK(check_certificate_times(options, now + std::chrono::hours(1)));
  CHECK(check_certificate_times(options, now + std::chrono::hours(49)).error().message ==
        "rest_cherrypy: ssl_crt: the certificate has expired");
  CHECK(check_certificate_times(options, now - std::chrono::hours(1)).error().message ==
        "rest_cherrypy: ssl_crt: the certificate is not valid yet");
  options.http[1].ssl_crt = "/nosuch.pem";
  CHECK(check_certificate_times(options, now).error().message.find("/nosuch.pem") != std::string::npos);
}

TEST_CASE("open warns about a world-readable key and refuses a key with a passphrase") {
  const std::string key = certificates().dir / "open.key";
  std::ofstream(key) << std::ifstream(certificates().files.server_key).rdbuf();
  ::chmod(key.c_str(), 0644);
  Options options = with_tls();
  options.http[0].ssl_key = key;
  const CapturedLog log;
  SocketActivation none;
  CHECK(HttpServer::open(options, none));
  CHECK(log.has("rest_cherrypy: ssl_key: " + key + ": every user of this host can read"));

  const std::string locked = certificates().dir / "locked.key";
  run_program({"openssl", "ec", "-in", certificates().files.server_key, "-aes128", "-passout", "pass:x",
               "-out", locked},
              certificates().dir / "openssl.log");
  options.http[0].ssl_key = locked;
  CHECK(refusal(options).find("rest_cherrypy: ssl_key: " + locked + ": ") == 0);
}

TEST_CASE("open refuses a port in use and an unknown host with HOST:PORT") {
  const Options options = with_http();
  const RunningGateway server(echo, options);
  CHECK(refusal(options).starts_with("rest_cherrypy: cannot listen on 127.0.0.1:" +
                                     std::to_string(port_of(options)) + ": Address already in use: "));
  Options nowhere = with_http();
  // A host name with a label of more than 63 characters is invalid, so the test needs no DNS.
  nowhere.http[0].host = std::string(64, 'x');
  CHECK(refusal(nowhere).starts_with("rest_cherrypy: cannot listen on " + nowhere.http[0].host + ":"));
}

TEST_CASE("only a trusted proxy sets REMOTE_ADDR and HTTPS by X-Forwarded headers") {
  const auto show_client = [](const http::Environ& request) {
    return http::Response{http::Status::ok,
                          {},
                          std::string(request.get("REMOTE_ADDR")) + " " + std::string(request.get("HTTPS"))};
  };
  const std::string request =
      "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 192.0.2.7\r\n"
      "X-Forwarded-Proto: https\r\n\r\n";
  Options options = with_http();
  options.http[0].host = "::";  // An IPv4 peer of an IPv6 port has its IPv4 address.
  {
    const RunningGateway server(show_client, options);
    CHECK(HttpPeer(port_of(options)).request(request).body == "127.0.0.1 ");
  }
  options = with_http();
  options.http[0].trusted_proxies = {"127.0.0.0/8"};
  const RunningGateway server(show_client, options);
  CHECK(HttpPeer(port_of(options)).request(request).body == "192.0.2.7 on");
  options.http[0].trusted_proxies = {"proxy"};
  CHECK(refusal(options).starts_with("trusted_proxies: found 'proxy'"));
}

TEST_CASE("SIGTERM closes idle and incomplete HTTP connections, and lets requests be answered") {
  Door door;
  const Options options = with_http(1);
  RunningGateway server(block_slow_requests_at(door), options);
  HttpPeer idle(port_of(options));
  CHECK(idle.request(http_post("used")).body == "used");
  const std::string post = http_post("comes slowly");
  HttpPeer sender(port_of(options));
  sender.send(post.substr(0, post.size() - 1));
  HttpPeer half(port_of(options));
  half.send("GET / HTTP/1.1\r\n");
  HttpPeer busy(port_of(options));
  busy.send(http_post("slow"));
  REQUIRE(door.waiting(1) == 1);
  HttpPeer waiting(port_of(options));
  waiting.send(http_post("waits"));
  server.signal(SIGTERM);
  CHECK(idle.closed_within(kSoon));
  CHECK(half.closed_within(kSoon));
  CHECK(eventually([&] { return !HttpPeer(port_of(options)).connected(); }));
  sender.send(post.substr(post.size() - 1));
  door.open();
  const HttpReply reply = busy.reply();
  CHECK(reply.body == "slow");
  CHECK(reply.header("Connection") == "close");
  CHECK(waiting.reply().body == "waits");
  CHECK(sender.reply().body == "comes slowly");
  CHECK(server.wait().running == 0);
}

TEST_CASE("a peer that does not read its reply delays serve by shutdown_timeout at most") {
  Options options = with_http(1);
  options.shutdown_timeout = milliseconds(300);
  // A thread of the server may send the text after the end of the test.
  const auto large = std::make_shared<const std::string>(20'000'000, 'x');
  RunningGateway server(
      [large](const http::Environ&) {
        return http::Response{http::Status::ok, {}, *large};
      },
      options);
  HttpPeer stuck(port_of(options));
  stuck.send(http_get());
  CHECK(stuck.bytes(1) == "H");
  const auto begin = std::chrono::steady_clock::now();
  server.stop();
  CHECK(std::chrono::steady_clock::now() - begin < kSoon);
}

TEST_CASE("SIGHUP loads a new application for all connections and a new certificate for new ones") {
  const TempDir dir;
  const Certificates& files = certificates().files;
  const auto put = [](const std::string& from, const std::string& to) {
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  };
  Options options = with_http();
  options.http[0].ssl_crt = dir / "crt";
  options.http[0].ssl_key = dir / "key";
  put(files.server_cert, dir / "crt");
  put(files.server_key, dir / "key");
  RunningGateway server(reply_with("old"), options, [] { return reply_with("new"); });
  const auto presented = [&] { return HttpPeer(port_of(options), true).certificate(); };
  HttpPeer kept(port_of(options), true);
  CHECK(kept.certificate() == "/CN=server");

  // The key does not belong to the new certificate, so the server keeps the old certificate.
  const CapturedLog log;
  put(files.client_cert, dir / "crt");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return log.has("the old certificate stays in use: rest_cherrypy: ssl_key: "); }));
  CHECK(presented() == "/CN=server");
  put(files.client_key, dir / "key");
  server.signal(SIGHUP);
  CHECK(eventually([&] { return presented() == "/CN=client"; }));
  CHECK(eventually([&] { return kept.request(http_get()).body == "new"; }));
}
