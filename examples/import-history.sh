#!/bin/sh
# Imports the history of restic or borg: each snapshot or archive becomes a snapshot of ldm, with its time, host, tags and
# paths. Run it again after an interruption: what has been imported is left out. docs/switching.md explains it.
#
#   import-history.sh restic    reads RESTIC_REPOSITORY and RESTIC_PASSWORD_FILE (or RESTIC_PASSWORD)
#   import-history.sh borg      borg 1: reads BORG_REPO and, if it is encrypted, BORG_PASSPHRASE
#   import-history.sh borg2     borg 2: the same
#
# It writes to LDM_REPOSITORY, which must exist, with the password of LDM_PASSWORD_FILE. Needs jq. Further words are options
# of `ldm import-tar`, such as --base. Exit code 3: some entries could not be imported as they were; ldm has named them.
set -eu

tool=${1-}
[ $# -eq 0 ] || shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# `commands` makes a line of each snapshot, oldest first: a tag that says where it is from, a tab, and what imports it.
case $tool in
restic)
  restic snapshots --json >"$work/list"
  commands='sort_by(.time)[] | "restic:" + .id[:8] + "\t" +
    "restic dump \(.id) / | ldm -q import-tar - --time \(.time) --host \(.hostname | @sh) --tag restic:\(.id[:8])" +
    ([(.tags // [])[] | " --tag " + @sh] | add // "") + ([.paths[] | " --path " + @sh] | add)'
  ;;
borg)
  borg list --json --format '{hostname}' >"$work/list"
  commands='.archives | sort_by(.time)[] | "borg:" + .id[:8] + "\t" +
    "borg export-tar \("::" + .name | @sh) - | ldm -q import-tar - --time \(.time) --host \(.hostname | @sh)" +
    " --tag borg:\(.id[:8]) --tag \(.name | @sh)"'
  ;;
borg2)
  borg2 repo-list --json --format '{hostname}{tags}' >"$work/list"
  commands='.archives | sort_by(.time)[] | "borg:" + .id[:8] + "\t" +
    "borg2 export-tar --tar-format PAX aid:\(.id) - | ldm -q import-tar - --time \(.time) --host \(.hostname | @sh)" +
    " --tag borg:\(.id[:8]) --tag \(.name | @sh)" +
    ([.tags // [] | if type == "string" then split(",")[] else .[] end | " --tag " + @sh] | add // "")'
  ;;
*)
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
  ;;
esac
jq -r "$commands" "$work/list" >"$work/commands"
ldm snapshots --json >"$work/snapshots"
jq -r 'select(.message_type == "snapshot") | .tags[]' "$work/snapshots" >"$work/imported"

worst=0
while IFS="$(printf '\t')" read -r origin command; do
  if grep -qxF "$origin" "$work/imported"; then
    echo "$origin was imported before"
    continue
  fi
  echo "$origin"
  code=0
  # If the first program fails, the archive is incomplete, and ldm makes no snapshot of it.
  eval "$command"' "$@"' </dev/null || code=$?
  case $code in
  0) ;;
  3) worst=3 ;;
  *) exit "$code" ;;
  esac
done <"$work/commands"
exit "$worst"
