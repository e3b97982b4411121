#!/bin/sh
# The three commands on a throw-away home: no key, no network, nothing of yours is touched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT INT TERM
export HOME="$home" DSH_HOME="$home/dsh" DSHLOOP_DATA="$home/data" DSHLOOP_CONFIG="$home/config"
unset DSHLOOP_PROFILE DSHLOOP_STORE AGENTMEMORY_PROJECT_NAME || true

run() {
    printf '\n$ dshloop'
    for word in "$@"; do
        case $word in
            *[\ \"\']*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    dshloop "$@" 2>&1
}

mkdir "$home/work"
cp -R "$here/hello-bundle" "$home/work/hello-bundle"
cd "$home/work"

run plugin add ./hello-bundle --profile web
run plugin list --profile web
run session run --driver fake "hello"
run session list
run memory remember "We deploy on Fridays"
run memory recall "when do we deploy"
run history
