# SPDX-License-Identifier: MIT
"""Explains why a function is missing in `__salt__`. module_loader.py loads this file when a function is missing."""

import salt.exceptions

LACKS = {
    "cp": "file roots",
    "event": "event bus for modules",
    "mine": "master that keeps a mine",
    "pkg": "packages",
    "pkg_resource": "packages",
    "lowpkg": "packages",
    "publish": "master that publishes for minions",
    "saltutil": "master",
    "state": "states",
    "slsutil": "states",
    "schedule": "scheduler of a minion",
}

# The names (`__virtualname__`) of all execution modules of Salt 3006, 3007 and 3008.
MODULES = frozenset(
    """
acl acme aliases alternatives ansible apache apcups apf appx aptly archive artifactory assistive asymmetric at
auditpol augeas autoruns aws_sqs azurearm_compute azurearm_dns azurearm_network azurearm_resource bamboohr baredoc
bcache beacons bgp bigip bluetooth boto3_elasticache boto3_elasticsearch boto3_route53 boto3_sns boto_apigateway
boto_asg boto_cfn boto_cloudfront boto_cloudtrail boto_cloudwatch boto_cloudwatch_event boto_cognitoidentity
boto_datapipeline boto_dynamodb boto_ec2 boto_efs boto_elasticache boto_elasticsearch_domain boto_elb boto_elbv2
boto_iam boto_iot boto_kinesis boto_kms boto_lambda boto_rds boto_route53 boto_s3 boto_s3_bucket boto_secgroup
boto_sns boto_sqs boto_ssm boto_vpc bower bridge btrfs buildout cabal capirca cassandra_cql celery ceph certutil
chassis chef chocolatey chronos chroot cimc ciscoconfparse cisconso cloud cmd composer config consul
container_resource cp cpan cron cryptdev csf cyg daemontools data datadog ddns debconf defaults desktop devinfo devmap
dig disk dism django dnsmasq dnsutil docker dockercompose drac dracr drbd dsc dsc_resource eix elasticsearch environ
eselect esxcluster esxdatacenter esxi esxvm etcd ethtool event extfs file firewall firewalld fmadm freebsd_update
freezer gcp gem genesis gentoolkit git github glanceng glassfish glusterfs gnome google_chat gpg grafana4 grains group
grub guestfs hadoop haproxy hashutil heat helm hg highstate_doc hosts http hue icinga2 idem ifttt ilo imgadm incron
influxdb influxdb08 infoblox ini inspectlib inspector introspect iosconfig ip ipmi ipset iptables iwtools jail jboss7
jboss7_cli jenkins jinja jira junos k8s kapacitor kerberos kernelpkg key keyboard keychain keystone keystoneng
keystore kmod kubeadm kubernetes layman ldap ldap3 lgpo lgpo_reg libcloud_compute libcloud_dns libcloud_loadbalancer
libcloud_storage license linux_service locale locate log logadm logrotate lowpkg lvm lvs lxc lxd macdefaults
macpackage makeconf mandrill marathon match mattermost mdata memcached mine minion modjk mongodb monit moosefs mount
mssql msteams munin mysql nacl nagios nagios_rpc namecheap_domains namecheap_domains_dns namecheap_domains_ns
namecheap_ssl namecheap_users napalm napalm_formula napalm_yang net netacl netaddress netbox netmiko netscaler network
neutron neutronng nexus nfs3 nftables nginx nictagadm nix nova npm nspawn ntp nxos nxos_api omapi openscap
openstack_config openstack_mng openvswitch opsgenie oracle osquery out pagerduty pagerduty_util pam panos parallels
partition pcs pdbedit pecl peeringdb pf pillar pip pkg pkg_resource pkgbuild pkgutil portage_config ports postfix
postgres poudriere power powercfg powerpath probes proxy ps psget publish puppet purefa purefb pushbullet pushover
pyeapi pyenv qemu_img qemu_nbd quota rabbitmq raid rallydev random random_org rbac rbenv rdp rebootmgr redis reg
rest_sample_utils restartcheck restconf ret riak route rsync runit rvm s3 s6 salt_proxy salt_version saltcheck
saltcloud saltutil schedule scp scsi sdb seed selinux sensehat sensors serverdensity_device service servicenow shadow
shortcut slack slsutil smbios smtp snapper snmp softwareupdate solr solrcloud splunk splunk_search sqlite3 ssh ssh_pki
state status statuspage supervisord svn swarm swift sys sysbench sysctl sysfs syslog_ng sysrc system system_profiler
task telegram telemetry temp test test_virtual testinfra textfsm timezone tls tomcat trafficserver
transactional_update travisci tuned twilio udev uptime user users uwsgi vagrant varnish vault vbox_guest vboxmanage
vcenter victorops virt virtualenv vmadm vmctl vsphere webutil win_dacl win_dns_client win_event win_iis win_path
win_pki win_servermanager win_smtp_server win_snmp win_wua winrepo wordpress wusa x509 xattr xfs xml xmpp yaml zabbix
zenoss zfs zk_concurrency znc zoneadm zonecfg zookeeper zpool
""".split()
)


class MissingFunction(salt.exceptions.CommandExecutionError, KeyError):
    """The KeyError for a missing function. The text has the reason."""

    __str__ = Exception.__str__


def error_for(name):
    module = name.partition(".")[0]
    if module not in MODULES:
        return KeyError(name)
    what = LACKS.get(module, "such function")
    return MissingFunction(f"'{name}' is not available: the embedded engine has no {what}")
