// SPDX-License-Identifier: MIT
#include "rest_fcgi/client/netapi_client.h"

#include <algorithm>
#include <utility>

#include "client/batch.h"
#include "client/local_client.h"
#include "client/runner_client.h"
#include "client/wheel_client.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::client {

using lowstate::Client;

namespace {

/// Clients that exist in Salt and not here. They are enabled or not like any other, so that what a caller
/// reads does not depend on it.
Error not_available(Client client) {
  return {ErrorKind::invocation, format("Client '{}' is not available.", name_of(client))};
}

}  // namespace

NetapiClient::NetapiClient(Options options, std::shared_ptr<master::Master> master)
    : options_(std::move(options)), master_(std::move(master)) {}

Result<master::Permit> NetapiClient::admit(const lowstate::Chunk& chunk, SteadyTime deadline) const {
  if (std::find(options_.enabled.begin(), options_.enabled.end(), chunk.client) == options_.enabled.end()) {
    return Error{
        ErrorKind::invocation,
        format("Client disabled: '{}'. Add to 'netapi_enable_clients' master config option to enable.",
               name_of(chunk.client))};
  }
  if (chunk.credentials.kind == auth::Credentials::Kind::none) {
    return Error{ErrorKind::authentication, "No authentication credentials given"};
  }
  if (chunk.client == Client::ssh) return not_available(chunk.client);
  return master_->admit(chunk, deadline);
}

SteadyTime NetapiClient::deadline() const {
  return system_clock().steady() + options_.request_timeout;
}

Result<Reply> NetapiClient::run(const master::Permit& permit) const {
  if (system_clock().steady() >= permit.deadline()) {
    return Error{
        ErrorKind::timeout,
        format("Lowstate chunk {} was not started: the request had taken {} seconds (request_timeout)",
               permit.chunk().index, std::chrono::duration<double>(options_.request_timeout).count())};
  }
  switch (permit.chunk().client) {
    case Client::local:
      return LocalClient(options_, *master_).cmd(permit);
    case Client::local_async:
      return LocalClient(options_, *master_).run_job(permit);
    case Client::local_batch:
      return Batch(*master_, permit, options_).run();
    case Client::local_subset:
      return LocalClient(options_, *master_).cmd_subset(permit);
    case Client::runner:
      return RunnerClient(options_, *master_).cmd_sync(permit);
    case Client::runner_async:
      return RunnerClient(options_, *master_).cmd_async(permit);
    case Client::wheel:
      return WheelClient(*master_).cmd_sync(permit);
    case Client::wheel_async:
      return WheelClient(*master_).cmd_async(permit);
    case Client::ssh:
      break;
  }
  return not_available(permit.chunk().client);
}

}  // namespace rest_fcgi::client
