// SPDX-License-Identifier: MIT
#include "master/embedded/modules/module.h"

namespace rest_fcgi::embedded {

std::vector<const Function*> builtin_functions() {
  std::vector<const Function*> all;
  for (const std::span<const Function> module : {
           cmd_functions(),
           config_functions(),
           disk_functions(),
           file_functions(),
           grains_functions(),
           network_functions(),
           pillar_functions(),
           saltutil_functions(),
           service_functions(),
           status_functions(),
           sys_functions(),
           test_functions(),
       }) {
    for (const Function& function : module) all.push_back(&function);
  }
  return all;
}

}  // namespace rest_fcgi::embedded
