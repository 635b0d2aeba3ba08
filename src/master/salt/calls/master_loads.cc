// SPDX-License-Identifier: MIT
#include <span>

#include "master/salt/calls/envelope.h"
#include "master/salt/calls/load.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::salt {
namespace {

void pack_args(Packer& packer, std::span<const JsonValue> args) {
  packer.text("arg").begin_array(args.size());
  for (const JsonValue& value : args) packer.value(value);
}

void pack_kwargs(Packer& packer, std::span<const JsonMember> kwargs) {
  packer.text("kwarg").begin_map(kwargs.size());
  for (const JsonMember& member : kwargs) packer.text(member.key).value(member.value);
}

}  // namespace

Result<WipedBytes> runner_load(const lowstate::MasterCall& call, const Caller& caller) {
  const auto arguments = lowstate::MasterArguments::take(call.function, true);
  if (!arguments) return arguments.error();
  return envelope([&](Packer& packer) {
    packer.begin_map(3 + credential_fields(*caller.credentials));
    packer.text("cmd").text("runner").text("fun").text(call.function.name);
    pack_credentials(packer, *caller.credentials);
    packer.text("kwarg").begin_map(2);
    pack_kwargs(packer, (*arguments)->kwargs);
    pack_args(packer, (*arguments)->args);
  });
}

WipedBytes wheel_load(const lowstate::MasterCall& call, const Caller& caller,
                      const std::optional<WheelJob>& job) {
  constexpr std::size_t kFields = 4;
  constexpr std::size_t kJobFields = 3;
  return envelope([&](Packer& packer) {
    packer.begin_map(kFields + (job ? kJobFields : 0) + credential_fields(*caller.credentials));
    packer.text("cmd").text("wheel").text("fun").text(call.function.name);
    pack_args(packer, call.function.args);
    pack_kwargs(packer, call.function.kwargs);
    if (job) {
      packer.text("__jid__").text(job->jid).text("__tag__").text(job->tag).text("__user__").text(job->user);
    }
    pack_credentials(packer, *caller.credentials);
  });
}

WipedBytes mk_token_load(const auth::Credentials& credentials) {
  return envelope([&](Packer& packer) {
    packer.begin_map(1 + credential_fields(credentials)).text("cmd").text("mk_token");
    pack_credentials(packer, credentials);
  });
}

WipedBytes get_token_load(const auth::Credentials& credentials) {
  return envelope([&](Packer& packer) {
    packer.begin_map(1 + credential_fields(credentials)).text("cmd").text("get_token");
    pack_credentials(packer, credentials);
  });
}

}  // namespace rest_fcgi::salt
