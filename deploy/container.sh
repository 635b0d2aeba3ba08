#!/bin/sh
# SPDX-License-Identifier: MIT
# container.sh: starts rest_fcgi in a container (deploy/Containerfile). The script begins as root, because the files in /config may
# belong to any user of the host and have mode 0600. It copies them to a folder in memory, and starts rest_fcgi as rest_fcgi's user.
# Without /config/master it writes a first configuration into the volume, with the user REST_FCGI_USER. The password is in
# REST_FCGI_PASSWORD, or in the file REST_FCGI_PASSWORD_FILE.
set -eu
umask 077

state=/var/lib/rest_fcgi
own=$state/config
etc=/run/rest_fcgi # /etc/rest_fcgi is a link to this folder
mkdir -p "$etc" "$own"

# write_configuration: writes $own/master and $own/users for a single user with all permissions.
write_configuration() {
  if [ -z "${REST_FCGI_USER:-}" ] || [ -z "${REST_FCGI_PASSWORD:-}${REST_FCGI_PASSWORD_FILE:-}" ]; then
    echo "rest_fcgi: found no /config/master, expected it, or REST_FCGI_USER with REST_FCGI_PASSWORD or REST_FCGI_PASSWORD_FILE" >&2
    exit 78
  fi
  tls='disable_ssl: true'
  [ ! -e /config/tls.crt ] || tls='ssl_crt: /etc/rest_fcgi/tls.crt, ssl_key: /etc/rest_fcgi/tls.key'
  cat >"$own/master.new" <<END
# Written by container.sh. configuration.md explains every key.
netapi_enable_clients: [local, local_async, local_batch, local_subset, runner, runner_async, wheel, wheel_async]
external_auth:
  file:
    ^filename: $own/users
    ^filetype: htpasswd
    '$REST_FCGI_USER': ['.*', '@jobs', '@runner', '@wheel']
cachedir: $state
rest_fcgi: {netapi: [rest_cherrypy], metrics: {listen: 127.0.0.1:9175}}
rest_cherrypy: {host: 0.0.0.0, port: 8000, $tls}
END
  rm -f "$own/users"
  if [ -n "${REST_FCGI_PASSWORD_FILE:-}" ]; then cat "$REST_FCGI_PASSWORD_FILE"; else printf '%s\n' "$REST_FCGI_PASSWORD"; fi |
    rest_fcgi --config "$own/master.new" --add-user "$REST_FCGI_USER" --password-stdin
  mv "$own/master.new" "$own/master"
}

if [ -e /config/master ]; then
  cp -RL /config/. "$etc"
else
  [ -e "$own/master" ] || write_configuration
  [ ! -e /config/tls.crt ] || cp -L /config/tls.crt /config/tls.key "$etc"
  cp "$own/master" "$etc/master"
fi
chown -R rest_fcgi:rest_fcgi "$etc" "$own"
chown rest_fcgi:rest_fcgi "$state"
chmod 700 "$state"
exec env -u REST_FCGI_PASSWORD setpriv --reuid=rest_fcgi --regid=rest_fcgi --init-groups --no-new-privs \
  rest_fcgi --config /etc/rest_fcgi/master "$@"
