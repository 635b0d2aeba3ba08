#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh start|stop: starts or stops the demo, which is rest_fcgi behind an nginx on loopback. All files of the demo are in
# $BUILD/demo.
set -eu

here=$(CDPATH='' cd "$(dirname "$0")" && pwd)
top=$(CDPATH='' cd "$here/../.." && pwd)
build=$(CDPATH='' cd "${BUILD:-build}" 2>/dev/null && pwd) || build=
demo=$build/demo
port=${DEMO_PORT:-8080}
http_port=${DEMO_HTTP_PORT:-$((port + 1))}
PATH=$PATH:/usr/sbin

die() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

# within TENTHS COMMAND...: runs COMMAND again until it succeeds. Fails after TENTHS tenths of a second.
within() {
  left=$1
  shift
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || return 1
    sleep 0.1
  done
}

# ours FILE: succeeds if the pid in FILE belongs to a process of this demo. A process of the demo has the demo's directory on its
# command line.
ours() {
  pid=$(cat "$1" 2>/dev/null) && [ "$pid" ] && grep -qsaF -- "$demo/" "/proc/$pid/cmdline"
}
not_ours() { ! ours "$1"; }

stop() {
  for name in nginx rest_fcgi; do
    if ours "$demo/$name.pid"; then
      kill "$pid"
      within 400 not_ours "$demo/$name.pid" || die "process $pid did not end in time"
      echo "demo: $name has ended"
    fi
    rm -f "$demo/$name.pid"
  done
  if [ -s "$demo/socket_dir" ]; then
    rm -rf "$(cat "$demo/socket_dir")"
    rm "$demo/socket_dir"
  fi
}

# Chooses the folder of the unix socket. If the path of the demo's directory is too long, or if nginx's workers cannot enter
# this directory, the folder is in /tmp.
choose_socket_dir() {
  socket_dir=$demo
  if [ "$(id -u)" = 0 ] || [ "$(printf %s "$demo/rest_fcgi.sock" | wc -c)" -gt 100 ]; then
    socket_dir=$(mktemp -d /tmp/rest_fcgi-demo.XXXXXX)
    chmod 711 "$socket_dir"
    printf %s "$socket_dir" >"$demo/socket_dir"
  fi
}

write_master() (
  umask 077
  hash=$(printf saltdev | openssl passwd -6 -stdin)
  printf 'saltdev:%s\n' "$hash" >"$demo/passwords"
  # Doubles each single quote, because YAML requires this in a text in single quotes.
  quoted=$(printf %s "$demo" | sed "s/'/''/g")
  escaped=$(printf %s "$quoted" | sed 's/[&|\]/\\&/g')
  group=
  [ "$(id -u)" != 0 ] || group=$worker_group
  sed -e "s|@demo@|$escaped|g" -e "s|@socket_dir@|$(printf %s "$socket_dir" | sed "s/'/''/g; s/[&|\]/\\\\&/g")|g" \
    -e "s|@group@|$group|g" -e "s|@http_port@|$http_port|g" "$here/master" >"$demo/master"
)

write_nginx() {
  socket=$(printf %s "$socket_dir/rest_fcgi.sock" | sed 's/[&|\]/\\&/g')
  sed -e "s|server unix:.*;|server \"unix:$socket\";|" -e "s|listen 127.0.0.1:8001;|listen 127.0.0.1:$port;|" \
    -e "s|server 127.0.0.1:8000;|server 127.0.0.1:$http_port;|" "$top/nginx/rest_fcgi" >"$demo/site"
  {
    [ "$(id -u)" != 0 ] || echo "user $worker_user $worker_group;"
    cat "$here/nginx.conf"
  } >"$demo/nginx.conf"
}

choose_worker_user() {
  worker_user=nobody
  if id -u www-data >/dev/null 2>&1; then worker_user=www-data; fi
  worker_group=$(id -gn "$worker_user")
}

answers() { curl -s -o /dev/null --noproxy '*' "http://127.0.0.1:$port/"; }

is_taken() {
  status=0
  curl -s -o /dev/null --noproxy '*' --max-time 2 "http://127.0.0.1:$1/" || status=$?
  [ "$status" != 7 ] # 7: the connection was refused
}

launch() {
  # The output of the servers goes to files. If the servers kept the output of this script open, `demo.sh start | cat` would not
  # end.
  setsid "$build/rest_fcgi" --config "$demo/master" </dev/null >"$demo/rest_fcgi.log" 2>&1 &
  echo $! >"$demo/rest_fcgi.pid"
  within 100 test -S "$socket_dir/rest_fcgi.sock" || die "rest_fcgi does not start: $(cat "$demo/rest_fcgi.log")"
  nginx -p "$demo/" -c "$demo/nginx.conf" </dev/null >"$demo/nginx.out" 2>&1 ||
    die "nginx does not start: $(cat "$demo/nginx.out")"
  within 100 answers || die "no server answers on port $port: see the logs in $demo"
}

# ask TITLE BODY: prints a request as a curl command, sends the request, and prints the reply. Sets $reply to the reply.
ask() {
  printf '\n%s\n\n' "$1"
  printf "$ curl -sS -i http://127.0.0.1:%s/ \\\\\n    -H 'Content-Type: application/json' \\\\\n    -d '%s'\n" "$port" "$2"
  reply=$(curl -sS -i --noproxy '*' "http://127.0.0.1:$port/" -H 'Content-Type: application/json' -d "$2")
  printf '%s\n' "$reply" | tr -d '\r'
  case $reply in
    *" 200 OK"*) ;;
    *) die "expected a reply with status 200: see $demo/rest_fcgi.log" ;;
  esac
}

# show TITLE COMMAND: prints a command, runs it in the demo's directory, and prints its output.
show() {
  printf '\n%s\n\n$ %s\n' "$1" "$2"
  reply=$(cd "$demo" && umask 077 && no_proxy='*' sh -c "$2") || die "the command failed: see $demo/rest_fcgi.log"
  printf '%s\n' "$reply"
}

rest_examples() {
  url=http://127.0.0.1:$http_port
  show "4. Salt's REST interface, on its own port: a login, which stores the session in a file of cookies" \
    "curl -sS -f -c cookies $url/login -d username=saltdev -d password=saltdev -d eauth=file"
  show "5. The minions and the beginning of their grains" "curl -sS -f -b cookies $url/minions | cut -c 1-200"
  show "6. The jobs so far" "curl -sS -f -b cookies $url/jobs | cut -c 1-600"
}

examples() {
  who='"eauth": "file", "username": "saltdev", "password": "saltdev"'
  ask "1. test.ping on all minions" "[{$who, \"client\": \"local\", \"tgt\": \"*\", \"fun\": \"test.ping\"}]"
  ask "2. The same asynchronously: the reply is the job's id" \
    "[{$who, \"client\": \"local_async\", \"tgt\": \"*\", \"fun\": \"test.ping\"}]"
  jid=$(printf '%s' "$reply" | sed -n 's/.*"jid": "\([0-9]*\)".*/\1/p')
  ask "3. Looking that job up" "[{$who, \"client\": \"runner\", \"fun\": \"jobs.lookup_jid\", \"jid\": \"$jid\"}]"
}

start() {
  [ -x "$build/rest_fcgi" ] || die "found no program $build/rest_fcgi: run make first"
  stop
  case $demo in
    *[\"\$\\\;]*) die "nginx cannot use a directory with one of \" \$ \\ ; in its name: $demo" ;;
  esac
  for one in "$port" "$http_port"; do
    if is_taken "$one"; then
      die "port $one is in use. Choose a port that is free together with the next port: make demo DEMO_PORT=9080"
    fi
  done
  mkdir -p "$demo"
  choose_worker_user
  choose_socket_dir
  write_master
  write_nginx
  launch
  examples
  rest_examples
  cat <<END

The demo keeps running on port $port. Its configuration and logs are in $demo.
You can change a request above and send it again. The minions are ms-0 to ms-4. This function lists all functions:
    "fun": "sys.list_functions"
In a browser, log in as saltdev with the password saltdev and the external auth file: http://127.0.0.1:$http_port/
To use SaltGUI instead, add the paths of its files to rest_cherrypy in $demo/master:
    app: /srv/saltgui/index.html
    static: /srv/saltgui/static
    static_path: /static
To stop the demo: make demo-stop
END
}

case ${1:-} in
  start) start ;;
  stop) if [ "$build" ]; then stop; fi ;;
  *) die "usage: demo.sh start|stop" ;;
esac
