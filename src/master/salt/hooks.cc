// SPDX-License-Identifier: MIT
#include "master/salt/events/event_socket.h"
#include "master/salt/salt_master.h"
#include "rest_fcgi/core/format.h"
#include "rest_fcgi/core/jid.h"
#include "rest_fcgi/core/log.h"
#include "rest_fcgi/master/events.h"

/// Fires events of callers on the master's bus. This process writes each event to the master's socket. If
/// this process has no permission for the socket, the runner `event.send` fires the event with the caller's
/// permissions.
namespace rest_fcgi::salt {

Result<void> SaltMaster::fire_event(std::string_view tag, Json data, const master::Session* caller,
                                    SteadyTime deadline) {
  const auto checked = master::check_event(tag, data);
  if (!checked) return checked.error();
  const std::string packed = pack_event(checked->root(), iso_stamp(system_clock().wall()));
  Result<void> fired = runtime_->pusher().fire(tag, packed, deadline);
  if (fired || fired.error().kind == ErrorKind::timeout) return fired;
  Error failed{ErrorKind::unavailable, "Events cannot be fired on the Salt Master's event bus now."};
  std::string why = fired.error().message;
  if (fired.error().kind == ErrorKind::authorization && caller != nullptr) {
    const Result<void> sent = send_event(tag, data, *caller, deadline);
    if (sent) return {};
    why += format("; the runner event.send, as user \"{}\": {}", caller->user, sent.error().message);
    failed.may_have_run = sent.error().may_have_run || sent.error().kind == ErrorKind::timeout;
  } else if (fired.error().kind == ErrorKind::authorization) {
    why +=
        "; the runner event.send cannot be used instead, because the request has no session and therefore no "
        "user";
  }
  // Callers do not see paths, modes and owners, which are only in the log.
  log::warning(why);
  return failed;
}

Result<void> SaltMaster::send_event(std::string_view tag, const Json& data, const master::Session& caller,
                                    SteadyTime deadline) {
  JsonDocument document;
  const Json arguments =
      written_object([&](JsonWriter& writer) { writer.key("tag").string(tag).key("data").json(data); });
  if (auto parsed = document.parse(arguments.text(), JsonLimits::none()); !parsed) return parsed.error();
  lowstate::MasterCall call;
  call.function.name = "event.send";
  for (const JsonMember& argument : document.root().members()) call.function.kwargs.push_back(argument);
  lowstate::Chunk chunk;
  chunk.client = lowstate::Client::runner;
  chunk.credentials = {.kind = auth::Credentials::Kind::token, .token = caller.token};
  chunk.call = call;
  const auto returns = std::make_shared<master::RunnerReturns>();
  const auto run = start(permit(chunk, caller.user, caller.eauth, deadline), call, returns);
  if (!run) return run.error();
  const auto taken = returns->take(deadline);
  if (!taken) return Error{ErrorKind::timeout, "it did not end in time"};
  if (!*taken) return taken->error();
  if ((*taken)->ret.text() == "true") return {};
  return Error{ErrorKind::internal, "it did not fire the event"};
}

}  // namespace rest_fcgi::salt
