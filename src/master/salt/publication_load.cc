// SPDX-License-Identifier: MIT
#include "master/salt/publication_load.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "rest_fcgi/core/format.h"

namespace rest_fcgi::salt {
namespace {

using master::Publication;
using What = Publication::What;

PublishLoad::Target list_of(const std::vector<std::string>& minions) {
  return {lowstate::TargetType::list, minions, ":"};
}

std::string joined(std::string_view ret, std::string_view ext_job_cache) {
  return format("{}{}{}", ret, ret.empty() || ext_job_cache.empty() ? "" : ",", ext_job_cache);
}

}  // namespace

std::string_view function_of(What what) {
  switch (what) {
    case What::ping:
      return "test.ping";
    case What::has_function:
      return "sys.list_functions";
    case What::find_job:
      return "saltutil.find_job";
    case What::call:
      break;
  }
  return {};
}

Result<PublishLoad> publication_load(const master::Permit& permit, const Publication& publication,
                                     const Options& options, const Nodegroups& nodegroups) {
  const lowstate::LocalCall& call = permit.chunk().local();
  PublishLoad load;
  if (publication.only) {
    load.target = list_of(*publication.only);
  } else {
    auto target = nodegroups.expand(call.target);
    if (!target) return std::move(target).error();
    load.target = *std::move(target);
  }
  if (options.order_masters) {
    load.to = std::chrono::ceil<std::chrono::seconds>(call.timeout.value_or(options.timeout));
  }
  switch (publication.what) {
    case What::call:
      load.call = &call;
      load.ret = joined(call.ret, options.ext_job_cache);
      load.metadata = call.metadata;
      if (permit.chunk().client != lowstate::Client::local_batch) load.jid = call.jid;
      break;
    case What::ping:
      load.call = PublishLoad::Function{function_of(publication.what), {}};
      break;
    case What::has_function:
      load.call = PublishLoad::Function{function_of(publication.what), {call.functions.front().name}};
      break;
    case What::find_job:
      load.call = PublishLoad::Function{function_of(publication.what), {publication.jid}};
      break;
  }
  return load;
}

}  // namespace rest_fcgi::salt
