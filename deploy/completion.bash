# SPDX-License-Identifier: MIT
# Completes the options of rest_fcgi(8) in bash. deploy/install.sh inserts the options that --help lists.
_rest_fcgi() {
  case $3 in
    -c | --config | --token-file | --backup | --restore) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
    -l | --log-level) mapfile -t COMPREPLY < <(compgen -W 'debug info warning error quiet' -- "$2") ;;
    *) mapfile -t COMPREPLY < <(compgen -W '@options@' -- "$2") ;;
  esac
}
complete -o filenames -F _rest_fcgi rest_fcgi
