#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh install|uninstall: installs the programs of $BUILD with their files below $DESTDIR$PREFIX and
# $DESTDIR$SYSCONFDIR, where Debian expects them, or removes them. An existing configuration is neither replaced nor removed;
# users, logs, tokens and jobs are not removed either.
set -eu

verb=${1:-}
top=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$top"
usr=$DESTDIR$PREFIX
etc=$DESTDIR$SYSCONFDIR

# place MODE SOURCE TARGET: installs a file unchanged.
place() {
  case $verb in
    install) install -D -m "$1" "$2" "$3" ;;
    uninstall) rm -f "$3" ;;
    *) echo "usage: install.sh install|uninstall" >&2 && exit 2 ;;
  esac
}

# Escapes a text for the replacement of sed.
escaped() { printf %s "$1" | sed 's/[&|\]/\\&/g'; }

# edit SOURCE TARGET COMMAND: installs a text that a command of sed changes.
edit() {
  place 644 "$1" "$2"
  [ "$verb" = uninstall ] || sed -e "$3" "$1" >"$2"
}

# fill SOURCE TARGET: installs a text with @prefix@ and @sysconfdir@ replaced.
fill() {
  edit "$1" "$2" "s|@prefix@|$(escaped "$PREFIX")|g; s|@sysconfdir@|$(escaped "$SYSCONFDIR")|g"
}

# page SOURCE TARGET: installs a page with links that fit the installed tree. Pages of deploy/ and files of deploy/systemd/ are
# beside README.md there, except units and modules. Pages of src/ are not installed, so links to them become text.
page() {
  edit "$1" "$2" 's|\[\([^]]*\)](src/[^)]*)|\1|g; s|](\.\./deploy/|](../|g; s|](\.\./\([naR]\)|](\1|g; s|\([[(]\)deploy/|\1|g
    s|](systemd/\([^)]*\.conf)\)|](\1|g; s|](systemd/|](../../../lib/systemd/system/|g
    s|](modules)|](../../../lib/rest_fcgi/modules)|g'
}

# folder SOURCE TARGET: installs the files of a folder, without folders in it.
folder() {
  for file in "$1"/*; do
    [ -d "$file" ] || place 644 "$file" "$2/${file##*/}"
  done
}

# With CHECK_BUILD=1, which `make install` sets for root: fails unless all programs are built, with this prefix.
if [ "${CHECK_BUILD:-}" ]; then
  for program in rest_fcgi rest_fcgi_pam rest_fcgi_run; do
    if [ ! -x "$BUILD/$program" ] || [ "$(cat "$BUILD/prefix")" != "$PREFIX" ]; then
      echo "make install: $BUILD/$program is not built for PREFIX=$PREFIX. Run this first, as yourself: make PREFIX=$PREFIX" >&2
      exit 1
    fi
  done
fi

place 755 "$BUILD/rest_fcgi" "$usr/bin/rest_fcgi"
place 755 "$BUILD/rest_fcgi_pam" "$usr/lib/rest_fcgi/rest_fcgi_pam"
place 755 "$BUILD/rest_fcgi_run" "$usr/lib/rest_fcgi/rest_fcgi_run"
for file in module_loader.py salt_exceptions.py salt_functions.py salt_ssh_client.py minion_options.json; do
  place 644 "$top/deploy/$file" "$usr/lib/rest_fcgi/$file"
done
for module in "$top"/deploy/modules/*.py; do
  place 644 "$module" "$usr/lib/rest_fcgi/modules/${module##*/}"
done
fill "$top/deploy/rest_fcgi.8" "$usr/share/man/man8/rest_fcgi.8"

systemd=$top/deploy/systemd
for unit in "$systemd"/*.service "$systemd"/*.socket; do
  fill "$unit" "$usr/lib/systemd/system/${unit##*/}"
done
fill "$systemd/sysusers.conf" "$usr/lib/sysusers.d/rest_fcgi.conf"
fill "$systemd/tmpfiles.conf" "$usr/lib/tmpfiles.d/rest_fcgi.conf"
for example in salt-master http-port manage-host; do # for those who want them, and so not in use
  fill "$systemd/$example.conf" "$usr/share/doc/rest_fcgi/$example.conf"
done
fill "$top/deploy/logrotate" "$etc/logrotate.d/rest_fcgi"
if [ "$verb" = install ] && [ ! -e "$etc/rest_fcgi/master" ]; then
  # Other users must not read it; systemd-tmpfiles gives it the group rest_fcgi.
  install -d -m 750 "$etc/rest_fcgi"
  place 640 "$top/deploy/master.example" "$etc/rest_fcgi/master"
fi

doc=$usr/share/doc/rest_fcgi
for file in LICENSE deploy/master.example; do
  place 644 "$top/$file" "$doc/${file##*/}"
done
for file in README.md deploy/*.md; do
  page "$top/$file" "$doc/${file##*/}"
done
for name in prometheus grafana; do
  folder "$top/deploy/$name" "$doc/$name"
done
for server in nginx apache; do
  folder "$top/$server" "$doc/$server"
  page "$top/$server/README.md" "$doc/$server/README.md"
  folder "$top/$server/site" "$doc/$server/site"
done
if [ "$verb" = uninstall ]; then
  rmdir "$usr/lib/rest_fcgi/modules" "$usr/lib/rest_fcgi" "$doc"/*/site "$doc"/* "$doc" 2>/dev/null || true
fi
