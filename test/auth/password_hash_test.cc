// SPDX-License-Identifier: MIT
#include "auth/password_hash.h"

#include <doctest/doctest.h>

#include "auth/digest.h"
#include "rest_fcgi/auth/crypt_hash.h"

namespace rest_fcgi::auth {
namespace {

bool matches(std::string_view hashtype, std::string_view password, std::string_view stored) {
  const auto hash = *make_password_hash(hashtype);
  return hash("fred", SecretView(password), stored);
}

struct HashVector {
  std::string_view hashtype;
  std::string_view stored;
};

constexpr HashVector kHashVectors[] = {
    {"plaintext", "sesame"},
    {"plain", "sesame"},
    {"md5", "c8dae1c50e092f3d877192fc555b1dcf"},
    {"sha1", "084a3501edef6845f2f1e4198ec3a2b81cf5c6bc"},
    {"sha224", "c6f6d61e04590c24e6e06dcd3d60d56f1a7cd86372853a8b69b0c6ac"},
    {"sha256", "D0C04F4B1951E4AEAAEC8223ED2039E542F3AAE805A6FA7F6D794E5AFFF5D272"},
    {"sha384",
     "fd0fa6301b99d8a18bffa42b4be3dffbc6b7427d30120077ea0295847f0e3724e599f22be2a25fda8ad1c33be211c1af"},
    {"sha512",
     "bb947e9c96a5620c696bd175a1b28eea6337fa8ca6c3dd19efb65e2cb1a4dfee0256cc87c21589354f1a9f5887af5d23ce05d72"
     "a143ae2f1efea9c455bf3d056"},
    {"sha3_224", "dc83a14864e4c1a98a67e9ae4a28b244d1443181183773e6ed64cba5"},
    {"sha3_256", "13c13212c329559b50d5a71b83d88528281fa5a5d6405ec2acdb800ecfbaf6a4"},
    {"sha3_384",
     "8c36a51b3807fb30de0bdd954b7d602ee6cad261f58ab2eabafa25d594e9b10ef595ad1752dbea104507c7c249bee475"},
    {"sha3_512",
     "31b5e87e507891f537c5f35f9a21f22c2f81585ff7ea0a6694268671b0c01ad07bd2fda45a1d92fe72f944723b1b625b463299d"
     "023688079405c3f29f76a9792"},
    {"blake2b",
     "87901ae02ddf0745ff5e84cfcfdea75e2617e3261a6c2507dd59e049da21eee3a367d1e311a016519134d5ce17b9f5c39478132"
     "0d85e740ed0c9a8132a8d4182"},
    {"blake2s", "34d4343fff6a23f5ca3abdcdaaad713c221a9b91f2c6cbf18885e8bfa8b8f8c7"},
    {"crypt", "$2b$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"},
    {"crypt", "$5$abcdefgh$4PbtPZdUc33o7LmNsM4HTsjYbIhyCeh4aCe.rEbHkq1"},
    {"crypt",
     "$6$abcdefgh$Bk2D4uYVcw0FbFPsWa0iJZ1DNfy8v6OjKcRcuBfMkWD1KdADPVnmQf5cr0O8HfAYpq1XrrjdgIRINkwgSKJ8/1"},
    {"crypt", "$y$j75$abcdefgh$vd9GBZ0X.Wgh3dsxBvCnIOYDItsueGfttJXG763.dDA"},
    {"crypt", "$1$abcdefgh$5XhrJpGu.bBXAZh4lT8oY/"},
    {"htpasswd", "$apr1$r31....$OSTt568Jy9b7x64jvtFsF1"},
    {"htpasswd", "$2y$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"},
    {"htpasswd", "$2a$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW"},
    {"htpasswd", "{SHA}CEo1Ae3vaEXy8eQZjsOiuBz1xrw="},
    {"htpasswd",
     "$6$abcdefgh$Bk2D4uYVcw0FbFPsWa0iJZ1DNfy8v6OjKcRcuBfMkWD1KdADPVnmQf5cr0O8HfAYpq1XrrjdgIRINkwgSKJ8/1"},
    {"htpasswd", "abnqrLigH.z/s"},
};

TEST_CASE("a new hash of a password matches that password alone, and has a new salt") {
  const auto hash = *crypt_hash(SecretView("sesame"));
  CHECK(matches("htpasswd", "sesame", hash));
  CHECK_FALSE(matches("htpasswd", "sesame2", hash));
  CHECK(*crypt_hash(SecretView("sesame")) != hash);
  CHECK_FALSE(crypt_hash(SecretView(std::string(600, 'x'))));
}

TEST_CASE("each hashtype accepts the password that was stored, and no other, of any length") {
  for (const HashVector& vector : kHashVectors) {
    CAPTURE(vector.hashtype);
    CAPTURE(vector.stored);
    CHECK(matches(vector.hashtype, "sesame", vector.stored));
    CHECK_FALSE(matches(vector.hashtype, "Sesame", vector.stored));
    CHECK_FALSE(matches(vector.hashtype, "sesam", vector.stored));
    CHECK_FALSE(matches(vector.hashtype, "", vector.stored));
  }
  CHECK(
      matches("htpasswd", "a rather long password of 41 bytes, no less", "$apr1$ab$FTsFFtk0Lx1Un0x5b2SQ.1"));
  CHECK(matches("htpasswd", "", "$apr1$ab$S8K6Sgp3W8c9Jb6LxgywZ."));
}

TEST_CASE("a malformed stored password, and a plain text in a file of htpasswd, match nothing") {
  CHECK_FALSE(matches("htpasswd", "sesame", "sesame"));
  for (const std::string_view hashtype : {"plaintext", "md5", "crypt", "htpasswd"}) {
    for (const std::string_view stored :
         {"", "*", "!", "*0", "*1", "x", "$", "$6$", "$apr1$", "$apr1$x", "$apr1$x$", "{SHA}"}) {
      CAPTURE(hashtype);
      CAPTURE(stored);
      CHECK_FALSE(matches(hashtype, "", stored));
      CHECK_FALSE(matches(hashtype, "sesame", stored));
    }
  }
}

TEST_CASE("the hash of htdigest depends on user and realm") {
  const auto hash = *make_htdigest_hash("Private");
  const char* stored = "d7a6c8d4c76d7a98ebd4cb66fdd78664";
  CHECK(hash("fred", SecretView("sesame"), stored));
  CHECK_FALSE(hash("fred", SecretView("Sesame"), stored));
  CHECK_FALSE(hash("gene", SecretView("sesame"), stored));
  CHECK_FALSE((*make_htdigest_hash("Public"))("fred", SecretView("sesame"), stored));
}

TEST_CASE("an unknown hashtype, and a digest that OpenSSL does not offer, are configuration errors") {
  const Error error = make_password_hash("rot13").error();
  CHECK(error.kind == ErrorKind::configuration);
  for (const char* name :
       {"rot13", "plaintext", "crypt", "htpasswd", "md5", "sha512", "sha3_512", "blake2s"}) {
    CHECK(error.message.find(name) != std::string::npos);
  }
  const Error unknown = DigestAlgorithm::fetch("ROT13").error();
  CHECK(unknown.kind == ErrorKind::configuration);
  CHECK(unknown.message.find("ROT13") != std::string::npos);
}

TEST_CASE("a digest is that of its joined parts, and a keyed digest depends on key and borders") {
  const auto sha256 = *DigestAlgorithm::fetch("SHA256");
  const std::string expected = "d0c04f4b1951e4aeaaec8223ed2039e542f3aae805a6fa7f6d794e5afff5d272";
  CHECK(to_hex(sha256.of({"sesame"})) == expected);
  CHECK(to_hex(sha256.of({"", "ses", "ame"})) == expected);
  CHECK(sha256_digits({"ses", "ame"}) == expected);
  const KeyedDigest digest;
  CHECK(digest.of({"ab", "c", "d"}) == digest.of({"ab", "c", "d"}));
  CHECK(digest.of({"ab", "c", "d"}) != digest.of({"a", "bc", "d"}));
  CHECK(digest.of({"ab", "c", "d"}) != digest.of({"ab", "cd", ""}));
  CHECK(digest.of({"a"}) != KeyedDigest().of({"a"}));
}

}  // namespace
}  // namespace rest_fcgi::auth
