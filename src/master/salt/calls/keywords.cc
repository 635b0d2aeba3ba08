// SPDX-License-Identifier: MIT
#include "master/salt/calls/keywords.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::salt {
namespace {

/// Functions of Salt, and which keys of clients they have as parameters. Both are words with a blank between
/// them.
/// `*`: the functions take any keyword argument.
struct Takers {
  std::string_view keys;
  std::string_view functions;
};

constexpr Takers kRunners[] = {
    {"*",
     "auth.mk_token bgp.neighbors cache.clear_git_lock cache.grains cache.mine cache.pillar cloud.action "
     "cloud.create cloud.map_run cloud.profile fileserver.update http.query lxc.cloud_init lxc.init nacl.dec "
     "nacl.dec_file nacl.enc nacl.enc_file nacl.keygen nacl.sealedbox_decrypt nacl.sealedbox_encrypt "
     "nacl.secretbox_decrypt nacl.secretbox_encrypt net.multi_find pillar.clear_pillar_cache "
     "pillar.show_pillar "
     "pillar.show_pillar_cache salt.cmd salt.execute spacewalk.api state.orchestrate_high "
     "state.orchestrate_single survey.diff survey.hash test.arg test.raw_arg"},
    {"tgt tgt_type",
     "cache.clear_all cache.clear_grains cache.clear_mine cache.clear_mine_func cache.clear_pillar mine.get "
     "mine.update network.wolmatch"},
    {"tgt tgt_type timeout", "ssh.cmd state.graph state.graph_highstate"},
    {"tgt tgt_type timeout gather_job_timeout", "manage.down manage.up"},
    {"tgt tgt_type timeout gather_job_timeout output", "manage.status"},
    {"tgt", "cache.cloud"},
    {"tgt_type", "manage.safe_accept"},
    {"subset",
     "manage.alived manage.allowed manage.joined manage.list_not_state manage.list_state manage.not_alived "
     "manage.not_allowed manage.not_joined manage.not_present manage.not_reaped manage.present "
     "manage.reaped"},
    {"jid",
     "batch.status batch.stop jobs.exit_success jobs.print_job state.pause state.resume state.soft_kill"},
    {"jid display_progress", "jobs.list_job jobs.lookup_jid"},
    {"jid outputter", "pkg.list_upgrades"},
    {"display_progress", "jobs.active"},
    {"display_progress outputter", "jobs.list_jobs jobs.list_jobs_filter"},
    {"display_progress outputter metadata", "jobs.last_run"},
    {"key", "cache.fetch cache.flush cache.store"},
    {"key delimiter", "config.get"},
    {"timeout", "ddns.add_host ddns.create ddns.delete ddns.delete_host ddns.update"},
    {"timeout username password", "drac.poweroff drac.poweron drac.pxe drac.reboot drac.version"},
    {"username", "mattermost.post_event mattermost.post_message"},
    {"username password", "manage.bootstrap_psexec"},
    {"password", "digicert.gen_csr digicert.gen_key"},
    {"token", "auth.del_token"},
    {"roster", "manage.bootstrap"},
    {"verbose", "vmadm.list vmadm.nodes"},
};
constexpr std::string_view kRunnerModules =
    "asam auth batch bgp cache cloud cluster config ddns digicert doc drac error event f5 fileserver "
    "git_pillar "
    "http jobs launchd lxc manage match mattermost mine nacl net network pagerduty pillar pkg pki queue "
    "reactor "
    "resource salt saltutil sdb spacewalk ssh state survey test thin vault venafi virt vistara vmadm winrepo";

constexpr Takers kWheels[] = {
    {"key", "config.apply"},
    {"user", "key.gen_keys"},
};
constexpr std::string_view kWheelModules = "config error file_roots key minions pillar_roots";

bool has_word(std::string_view words, std::string_view word) noexcept {
  while (!words.empty()) {
    if (take_part(words, ' ') == word) return true;
  }
  return false;
}

bool gets_keyword(std::span<const Takers> takers, std::string_view modules, std::string_view function,
                  std::string_view key) {
  if (!lowstate::is_client_key(key) || !has_word(modules, function.substr(0, function.find('.'))))
    return true;
  return std::any_of(takers.begin(), takers.end(), [&](const Takers& some) {
    return (some.keys == "*" || has_word(some.keys, key)) && has_word(some.functions, function);
  });
}

}  // namespace

bool runner_gets_keyword(std::string_view runner, std::string_view key) {
  return gets_keyword(kRunners, kRunnerModules, runner, key);
}

bool wheel_gets_keyword(std::string_view wheel, std::string_view key) {
  return gets_keyword(kWheels, kWheelModules, wheel, key);
}

}  // namespace rest_fcgi::salt
