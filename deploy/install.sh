#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh install|uninstall: installs the programs of $BUILD and their files below $DESTDIR$PREFIX and $DESTDIR$SYSCONFDIR,
# or removes them. If the units of these files are loaded, the script first stops and disables them. It never replaces or removes
# a site of nginx or Apache, and never removes the configuration, users, logs, tokens and jobs.
set -eu

verb=${1:-}
top=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$top"
usr=$DESTDIR$PREFIX
etc=$DESTDIR$SYSCONFDIR
doc=$usr/share/doc/rest-fcgi

# place MODE SOURCE TARGET: installs a file unchanged. If install.sh runs with `uninstall`, removes the file TARGET.
place() {
  case $verb in
    install) install -D -m "$1" "$2" "$3" ;;
    uninstall) rm -f "$3" ;;
    *) echo "usage: install.sh install|uninstall" >&2 && exit 2 ;;
  esac
}

escaped() { printf %s "$1" | sed 's/[&|\]/\\&/g'; }

# edit SOURCE TARGET COMMAND: changes a text file with the sed command COMMAND and installs the result.
edit() {
  place 644 "$1" "$2"
  [ "$verb" = uninstall ] || sed -e "$3" "$1" >"$2"
}

# fill SOURCE TARGET: replaces @prefix@ and @sysconfdir@ in a text file by the real paths and installs the result.
fill() {
  edit "$1" "$2" "s|@prefix@|$(escaped "$PREFIX")|g; s|@sysconfdir@|$(escaped "$SYSCONFDIR")|g"
}

# page SOURCE TARGET: installs a page of the documentation and changes its links. In the installed documentation, the pages of
# deploy/ and the drop-ins of deploy/systemd/ are in the folder of README.md. Links to pages of src/ become plain text, because
# these pages are not installed.
page() {
  edit "$1" "$2" 's|\[\([^]]*\)](src/[^)]*)|\1|g; s|](\.\./deploy/|](../|g; s|](\.\./R|](R|g; s|](LICENSE)|](copyright)|g
    s#](\.\./\(nginx\|apache\)/#](\1/#g; s|\([[(]\)deploy/|\1|g
    s|](systemd/\([^)]*\.conf)\)|](\1|g; s|](systemd/|](../../../lib/systemd/system/|g
    s|](modules)|](../../../lib/rest_fcgi/modules)|g'
}

# site SERVER FOLDER: installs the page and the sites for nginx or apache. The sites are configuration in FOLDER of $etc, so the script
# does not replace them if they exist.
site() {
  page "$top/$1/README.md" "$doc/$1/README.md"
  for file in "$top/$1"/rest_fcgi*; do
    own=$etc/$2/sites-available/${file##*/}
    [ "$verb" = uninstall ] || [ -e "$own" ] || edit "$file" "$own" "s#/usr/\(bin\|share\)/#$(escaped "$PREFIX")/\1/#"
  done
}

if [ "${CHECK_BUILD:-}" ]; then
  for program in rest_fcgi rest_fcgi_pam rest_fcgi_run; do
    if [ ! -x "$BUILD/$program" ]; then
      echo "make install: $BUILD/$program is not built. Run make first, without root" >&2
      exit 1
    fi
  done
fi

systemd=$top/deploy/systemd
loaded() { [ -e "$1" ] && [ "$(readlink -f "$(systemctl show -P FragmentPath "${1##*/}" 2>/dev/null)")" = "$(readlink -f "$1")" ]; }
if [ "$verb" = uninstall ] && loaded "$usr/lib/systemd/system/rest_fcgi.service"; then
  # shellcheck disable=SC2046 # The shell must split the list into words.
  systemctl disable --now $(cd "$systemd" && ls rest_fcgi*.socket rest_fcgi.service rest_fcgi-salt.service)
  systemctl stop 'rest_fcgi-run@*.service' 'rest_fcgi-pam@*.service'
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
options=$([ "$verb" = uninstall ] || "$BUILD/rest_fcgi" --help | sed -n 's/^  \(-. \[ \)\{0,1\}\(--[a-z-]*\).*/\2/p' | tr '\n' ' ')
edit "$top/deploy/completion.bash" "$usr/share/bash-completion/completions/rest_fcgi" "s/@options@/${options% }/"

for unit in "$systemd"/*.service "$systemd"/*.socket; do
  fill "$unit" "$usr/lib/systemd/system/${unit##*/}"
done
fill "$systemd/sysusers.conf" "$usr/lib/sysusers.d/rest_fcgi.conf"
fill "$systemd/tmpfiles.conf" "$usr/lib/tmpfiles.d/rest_fcgi.conf"
for example in salt-master manage-host; do # optional drop-ins, which an administrator copies
  fill "$systemd/$example.conf" "$doc/$example.conf"
done
fill "$top/deploy/logrotate" "$etc/logrotate.d/rest_fcgi"

place 644 "$top/deploy/debian/copyright" "$doc/copyright"
place 644 "$top/deploy/master.example" "$doc/master.example"
for file in README.md deploy/*.md; do
  page "$top/$file" "$doc/${file##*/}"
done
for name in prometheus grafana; do
  for file in "$top/deploy/$name"/*; do
    place 644 "$file" "$doc/$name/${file##*/}"
  done
done
site nginx nginx
site apache apache2
if [ "$verb" = uninstall ]; then
  rmdir "$usr/lib/rest_fcgi/modules" "$usr/lib/rest_fcgi" "$doc"/* "$doc" 2>/dev/null || true
fi
