// SPDX-License-Identifier: MIT
#include "master/salt/calls/envelope.h"

namespace rest_fcgi::salt {
namespace {

constexpr std::size_t kUsualSize = 512;

}  // namespace

WipedBytes envelope(const std::function<void(Packer&)>& pack_load) {
  WipedBytes message;
  message.reserve(kUsualSize);
  Packer packer(message);
  packer.begin_map(3).text("enc").text("clear").text("load");
  pack_load(packer);
  packer.text("version").integer(3);
  return message;
}

std::size_t credential_fields(const auth::Credentials& credentials) {
  switch (credentials.kind) {
    case auth::Credentials::Kind::token:
      return 1;
    case auth::Credentials::Kind::eauth:
      return 3;
    case auth::Credentials::Kind::none:
      break;
  }
  return 0;
}

void pack_credentials(Packer& packer, const auth::Credentials& credentials) {
  switch (credentials.kind) {
    case auth::Credentials::Kind::token:
      packer.text("token").text(credentials.token.reveal());
      break;
    case auth::Credentials::Kind::eauth:
      packer.text("eauth").text(credentials.eauth);
      packer.text("username").text(credentials.username);
      packer.text("password").text(credentials.password.reveal());
      break;
    case auth::Credentials::Kind::none:
      break;
  }
}

}  // namespace rest_fcgi::salt
