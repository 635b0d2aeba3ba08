# SPDX-License-Identifier: MIT

import fnmatch

DEFAULTS = {
    "aliases.file": "/etc/aliases",
    "ca.cert_base_path": "/etc/pki",
    "docker.compare_container_networks": {
        "static": ["Aliases", "Links", "IPAMConfig"],
        "automatic": ["IPAddress", "Gateway", "GlobalIPv6Address", "IPv6Gateway"],
    },
    "docker.exec_driver": "docker-exec",
    "hosts.file": "/etc/hosts",
    "ldap.anonymous": True,
    "ldap.attrs": None,
    "ldap.binddn": "",
    "ldap.bindpw": "",
    "ldap.no_verify": False,
    "ldap.port": "389",
    "ldap.scope": 2,
    "ldap.server": "localhost",
    "ldap.tls": False,
    "ldap.uri": "",
    "mongo.db": "salt",
    "mongo.password": "",
    "mongo.port": 27017,
    "mongo.user": "",
    "poudriere.config": "/usr/local/etc/poudriere.conf",
    "poudriere.config_dir": "/usr/local/etc/poudriere.d",
    "redis.db": "0",
    "redis.host": "salt",
    "redis.port": 6379,
    "solr.backup_path": None,
    "solr.baseurl": "/solr",
    "solr.cores": [],
    "solr.dih.import_options": {"clean": False, "optimize": True, "commit": True, "verbose": False},
    "solr.host": "localhost",
    "solr.init_script": "/etc/rc.d/solr",
    "solr.num_backups": 1,
    "solr.port": "8983",
    "solr.request_timeout": None,
    "solr.type": "master",
    "test.foo": "unconfigured",
    "virt": {"tunnel": False, "images": "/srv/salt-images"},
}


def backup_mode(backup=""):
    """
    Return the setting ``backup_mode`` of the minion.

    CLI Example:

        salt '*' config.backup_mode
    """
    return backup or option("backup_mode")


def dot_vals(value):
    """
    Return all options whose names begin with ``value`` and a dot. The options of the pillar's ``master`` are
    included.

    CLI Example:

        salt '*' config.dot_vals status
    """
    options = {**__pillar__.get("master", {}), **__opts__}
    return {name: found for name, found in options.items() if name.startswith(f"{value}.")}


def manage_mode(mode):
    """
    Return the permissions of a file as a text of four digits.

    CLI Example:

        salt '*' config.manage_mode 644
    """
    return mode if mode is None else str(mode).replace("0o", "0").strip("\"'").lstrip("0").zfill(4)


def merge(value, default="", omit_opts=False, omit_master=False, omit_pillar=False):
    """
    Return a value from the minion's options, the pillar's ``master`` and the pillar. Maps and lists of all places
    are merged.

    CLI Example:

        salt '*' config.merge schedule
    """
    merged = None
    stores = ((omit_opts, __opts__), (omit_master, __pillar__.get("master", {})), (omit_pillar, __pillar__))
    for found in (store[value] for omit, store in stores if not omit and value in store):
        if merged is None:
            merged = found
            if isinstance(found, str):
                break
        elif isinstance(merged, dict) and isinstance(found, dict):
            merged = {**found, **merged}
        elif isinstance(merged, (list, tuple)) and isinstance(found, (list, tuple)):
            merged = [*merged, *found]
    return DEFAULTS.get(value, default) if merged is None else merged


def option(value, default=None, omit_opts=False, omit_grains=False, omit_pillar=False, omit_master=False, omit_all=False, wildcard=False):
    """
    Return a value from the minion's options, grains, pillar, or the pillar's ``master``. The first place that has
    the value wins. If no place has the value, return Salt's own default. With ``wildcard``, ``value`` is a pattern,
    and the return has all matches.

    CLI Example:

        salt '*' config.option redis.host
    """
    stores = (
        (omit_opts, __opts__),
        (omit_grains, __grains__),
        (omit_pillar, __pillar__),
        (omit_master, __pillar__.get("master", {})),
    )
    searched = [store for omit, store in stores if not omit and not omit_all] + [DEFAULTS]
    if wildcard:
        found = {name: store[name] for store in reversed(searched) for name in fnmatch.filter(store, value)}
        return found or ({} if default is None else default)
    return next((store[value] for store in searched if value in store), "" if default is None else default)


def valid_fileproto(uri):
    """
    Return whether a minion can get files from a URI.

    CLI Example:

        salt '*' config.valid_fileproto salt://path/to/file
    """
    return uri.partition(":")[0].lower() in ("salt", "file", "http", "https", "ftp", "swift", "s3") and ":" in uri
