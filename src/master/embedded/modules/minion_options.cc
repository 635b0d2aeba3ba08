// SPDX-License-Identifier: MIT
#include <string_view>

#include "master/embedded/modules/native.h"
#include "master/embedded/text.h"

namespace rest_fcgi::embedded {
namespace {

/// The options of Salt 3006's `salt-call --local` without a configuration file, its command line left out.
constexpr std::string_view kDefaults = R"json({
"__cli": "salt-call", "__role": "minion", "acceptance_wait_time": 10, "acceptance_wait_time_max": 0,
"always_verify_signature": false, "append_minionid_config_dirs": [], "auth_retries": 0,
"auth_safemode": false, "auth_timeout": 5, "auth_tries": 7, "auto_accept": true,
"autoload_dynamic_modules": true, "autosign_timeout": 120, "azurefs_update_interval": 60, "backup_mode": "",
"beacons": {}, "beacons_before_connect": false, "cache": "localfs", "cache_jobs": false, "cache_sreqs": true,
"cachedir": "/var/cache/salt/minion", "clean_dynamic_modules": true, "cluster_mode": false, "cmd_safe": true,
"color": false, "conf_file": "/etc/salt/minion", "config_dir": "/etc/salt", "cython_enable": false,
"decrypt_pillar": [], "decrypt_pillar_default": "gpg", "decrypt_pillar_delimiter": ":",
"decrypt_pillar_renderers": ["gpg"], "default_include": "minion.d/*.conf", "default_top": "base",
"disable_modules": [], "disable_returners": [], "disabled_requisites": [], "discovery": false,
"enable_fqdns_grains": false, "enable_gpu_grains": true, "enable_legacy_startup_events": true,
"enable_zip_modules": false, "encryption_algorithm": "OAEP-SHA1", "engines": [], "env_order": [],
"event_match_type": "startswith", "ext_job_cache": "", "extension_modules": "/var/cache/salt/minion/extmods",
"extmod_blacklist": {}, "extmod_whitelist": {}, "failhard": false, "features": {},
"file_buffer_size": 262144, "file_client": "local", "file_ignore_glob": [], "file_ignore_regex": [],
"file_recv": false, "file_recv_max_size": 100, "file_roots": {"base": ["/srv/salt", "/srv/spm/salt"]},
"fileserver_backend": ["roots"], "fileserver_followsymlinks": true, "fileserver_ignoresymlinks": false,
"fips_mode": false, "git_pillar_base": "master", "git_pillar_branch": "master", "git_pillar_env": "",
"git_pillar_fallback": "", "git_pillar_global_lock": true, "git_pillar_includes": true,
"git_pillar_insecure_auth": false, "git_pillar_passphrase": "", "git_pillar_password": "",
"git_pillar_privkey": "", "git_pillar_pubkey": "",
"git_pillar_refspecs": ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"],
"git_pillar_root": "", "git_pillar_ssl_verify": true, "git_pillar_update_interval": 60,
"git_pillar_user": "", "gitfs_base": "master", "gitfs_disable_saltenv_mapping": false, "gitfs_fallback": "",
"gitfs_global_lock": true, "gitfs_insecure_auth": false, "gitfs_mountpoint": "", "gitfs_passphrase": "",
"gitfs_password": "", "gitfs_privkey": "", "gitfs_pubkey": "", "gitfs_ref_types": ["branch", "tag", "sha"],
"gitfs_refspecs": ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"], "gitfs_remotes": [],
"gitfs_root": "", "gitfs_saltenv": [], "gitfs_saltenv_blacklist": [], "gitfs_saltenv_whitelist": [],
"gitfs_ssl_verify": true, "gitfs_update_interval": 60, "gitfs_user": "", "global_state_conditions": null,
"gpg_cache": false, "gpg_cache_backend": "disk", "gpg_cache_ttl": 86400, "gpg_decrypt_must_succeed": false,
"grains_blacklist": [], "grains_cache": false, "grains_cache_expiration": 300, "grains_deep_merge": false,
"grains_dirs": [], "grains_refresh_every": 0, "hash_type": "sha256", "hgfs_update_interval": 60,
"http_connect_timeout": 20.0, "http_max_body": 107374182400, "http_request_timeout": 3600.0,
"id_function": {}, "interface": "0.0.0.0", "ipc_mode": "ipc", "ipc_write_buffer": 0, "ipv6": null,
"keysize": 2048, "local": true, "lock_saltenv": false, "log_datefmt": "%H:%M:%S",
"log_datefmt_logfile": "%Y-%m-%d %H:%M:%S", "log_file": "/var/log/salt/minion",
"log_fmt_console": "[%(levelname)-8s] %(message)s", "log_fmt_jid": "[JID: %(jid)s]",
"log_fmt_logfile": "%(asctime)s,%(msecs)03d [%(name)-17s:%(lineno)-4d][%(levelname)-8s][%(process)d] %(message)s",
"log_granular_levels": {}, "log_level": "warning", "log_level_logfile": "warning",
"log_rotate_backup_count": 0, "log_rotate_max_bytes": 0, "loop_interval": 1, "master": "salt",
"master_alive_interval": 0, "master_failback": false, "master_failback_interval": 0, "master_finger": "",
"master_port": 4506, "master_shuffle": false, "master_sign_key_name": "master_sign",
"master_tops_first": false, "master_tries": 1, "master_type": "str", "master_uri_format": "default",
"max_event_size": 1048576, "mine_enabled": true, "mine_interval": 60, "mine_return_job": false,
"minion_id_caching": true, "minion_id_lowercase": false, "minion_id_remove_domain": false,
"minion_jid_queue_hwm": 100, "minion_memory_headroom": null, "minion_memory_max": null,
"minion_restart_command": [], "minion_sign_messages": false, "minionfs_update_interval": 60,
"module_dirs": [], "modules_max_memory": -1, "multifunc_ordered": false, "multiprocessing": true,
"on_demand_ext_pillar": ["libvirt", "virtkey"], "open_mode": false, "optimization_order": [0, 1, 2],
"outputter_dirs": [], "password": null, "permissive_pki_access": false,
"pidfile": "/var/run/salt-minion.pid", "pillar_cache": false, "pillar_cache_backend": "disk",
"pillar_cache_ttl": 3600, "pillar_includes_override_sls": false, "pillar_merge_lists": false,
"pillar_opts": false, "pillar_roots": {"base": ["/srv/pillar", "/srv/spm/pillar"]},
"pillar_source_merging_strategy": "smart", "pillarenv": null, "pillarenv_from_saltenv": false,
"ping_interval": 0, "pki_dir": "/etc/salt/pki/minion", "process_count_max": -1, "providers": {},
"proxy_host": "", "proxy_password": "", "proxy_port": 0, "proxy_username": "", "pub_ret": true,
"publisher_acl": {}, "publisher_acl_blacklist": {}, "random_master": false, "random_reauth_delay": 10,
"random_startup_delay": 0, "range_server": "range:80", "reactor_niceness": null,
"reactor_refresh_interval": 60, "reactor_worker_hwm": 10000, "reactor_worker_threads": 10,
"recon_default": 1000, "recon_max": 10000, "recon_randomize": true, "rejected_retry": false,
"render_dirs": [], "renderer": "jinja|yaml", "renderer_blacklist": [], "renderer_whitelist": [],
"request_channel_timeout": 60, "request_channel_tries": 3, "resolve_dns_fallback": true,
"restart_on_error": false, "retry_dns": 30, "retry_dns_count": null, "return_retry_timer": 5,
"return_retry_timer_max": 10, "return_retry_tries": 3, "returner_dirs": [], "root_dir": "/",
"roots_update_interval": 60, "s3fs_update_interval": 60, "salt_cp_chunk_size": 65536, "saltenv": null,
"schedule": {}, "scheduler_before_connect": false, "sign_pub_messages": false,
"signing_algorithm": "PKCS1v15-SHA1", "sls_list": [], "snapper_states": false,
"snapper_states_config": "root", "sock_dir": "/var/run/salt/minion", "sock_pool_size": 1,
"source_address": "", "source_interface_name": "", "source_publish_port": 0, "source_ret_port": 0,
"ssh_merge_pillar": true, "ssl": null, "start_event_grains": [], "startup_states": "",
"state_aggregate": false, "state_auto_order": true, "state_events": false, "state_output": "full",
"state_output_diff": false, "state_output_profile": true, "state_queue": false, "state_top": "top.sls",
"state_top_saltenv": null, "state_verbose": true, "states_dirs": [], "sudo_user": "",
"svnfs_update_interval": 60, "syndic_finger": "", "syndic_retries": 3, "tcp_authentication_retries": 5,
"tcp_keepalive": true, "tcp_keepalive_cnt": -1, "tcp_keepalive_idle": 300, "tcp_keepalive_intvl": -1,
"tcp_pub_port": 4510, "tcp_pull_port": 4511, "tcp_reconnect_backoff": 1, "test": false,
"thorium_interval": 0.5, "thorium_roots": {"base": ["/srv/thorium"]}, "thorium_top": "top.sls",
"thoriumenv": null, "top_file": "", "top_file_merging_strategy": "merge", "transport": "zeromq",
"unique_jid": false, "update_restart_services": [], "update_url": false, "use_master_when_local": false,
"user": "root", "username": null, "utils_dirs": [], "verify_env": true, "verify_master_pubkey_sign": false,
"whitelist_modules": [], "winrepo_branch": "master", "winrepo_cache_expire_max": 604800,
"winrepo_cache_expire_min": 1800, "winrepo_cachefile": "winrepo.p", "winrepo_dir": "/srv/salt/win/repo",
"winrepo_dir_ng": "/srv/salt/win/repo-ng", "winrepo_fallback": "", "winrepo_insecure_auth": false,
"winrepo_installer_cache_expire": 0, "winrepo_passphrase": "", "winrepo_password": "", "winrepo_privkey": "",
"winrepo_pubkey": "",
"winrepo_refspecs": ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"],
"winrepo_remotes": ["https://github.com/saltstack/salt-winrepo.git"],
"winrepo_remotes_ng": ["https://github.com/saltstack/salt-winrepo-ng.git"],
"winrepo_source_dir": "salt://win/repo-ng/", "winrepo_ssl_verify": true, "winrepo_user": "",
"zmq_filtering": false, "zmq_monitor": false
})json";

}  // namespace

void write_minion_options(JsonWriter& writer, std::string_view id) {
  static const JsonDocument defaults = own_document(Json::trusted(std::string(kDefaults)));
  writer.key("id").string(id);
  for (const auto& [key, value] : defaults.root().members()) value.write(writer.key(key));
}

}  // namespace rest_fcgi::embedded
