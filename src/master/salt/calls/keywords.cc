// SPDX-License-Identifier: MIT
#include "master/salt/calls/keywords.h"

#include <algorithm>
#include <span>

#include "rest_fcgi/core/text.h"
#include "rest_fcgi/lowstate/master_arguments.h"

namespace rest_fcgi::salt {
namespace {

/// A group of Salt's functions that take the same client keys as parameters. A client key is a keyword such
/// as `timeout`; see `lowstate::is_client_key`. `keys` has these client keys, or `*` for functions that take
/// any keyword argument. Spaces separate the names in `keys` and in `functions`.
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
    {"tgt tgt_type timeout", "ssh.cmd"},
    {"tgt tgt_type timeout saltenv pillarenv", "state.graph"},
    {"tgt tgt_type timeout pillarenv", "state.graph_highstate"},
    {"saltenv pillarenv",
     "state.orch state.orch_show_sls state.orchestrate state.orchestrate_show_sls state.sls"},
    {"saltenv",
     "fileserver.clear_file_list_cache fileserver.dir_list fileserver.empty_dir_list fileserver.file_list "
     "fileserver.symlink_list pillar.show_top reactor.add reactor.delete reactor.list saltutil.sync_all "
     "saltutil.sync_cache saltutil.sync_clouds saltutil.sync_eauth_tokens saltutil.sync_engines "
     "saltutil.sync_executors saltutil.sync_fileserver saltutil.sync_grains saltutil.sync_modules "
     "saltutil.sync_output saltutil.sync_pillar saltutil.sync_proxymodules saltutil.sync_queues "
     "saltutil.sync_renderers saltutil.sync_returners saltutil.sync_roster saltutil.sync_runners "
     "saltutil.sync_sdb saltutil.sync_serializers saltutil.sync_states saltutil.sync_thorium "
     "saltutil.sync_tops saltutil.sync_utils saltutil.sync_wheel saltutil.sync_wrapper virt.init"},
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
    {"saltenv",
     "file_roots.find file_roots.list_env file_roots.read file_roots.write pillar_roots.find "
     "pillar_roots.list_env pillar_roots.read pillar_roots.write"},
};
constexpr std::string_view kWheelModules = "config error file_roots key minions pillar_roots";

bool has_word(std::string_view words, std::string_view word) noexcept {
  while (!words.empty()) {
    if (next_token(words, ' ') == word) return true;
  }
  return false;
}

bool is_in_module(std::string_view modules, std::string_view function) noexcept {
  return has_word(modules, function.substr(0, function.find('.')));
}

bool gets_keyword(std::span<const Takers> takers, std::string_view function, std::string_view key) {
  return std::any_of(takers.begin(), takers.end(), [&](const Takers& some) {
    return (some.keys == "*" || has_word(some.keys, key)) && has_word(some.functions, function);
  });
}

}  // namespace

bool runner_gets_keyword(std::string_view runner, std::string_view key) {
  if (!lowstate::is_client_key(key, true) || !is_in_module(kRunnerModules, runner)) return true;
  return gets_keyword(kRunners, runner, key);
}

bool wheel_gets_keyword(std::string_view wheel, std::string_view key) {
  if (!lowstate::is_client_key(key, false) || !is_in_module(kWheelModules, wheel)) return true;
  return gets_keyword(kWheels, wheel, key);
}

}  // namespace rest_fcgi::salt
