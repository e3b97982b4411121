#!/usr/bin/env bash
# Install a PostgreSQL server for the tests of the store postgres.
#
#   bash postgres-setup.sh
#
# Tests start a server of their own, in a temporary folder, as somebody else than root; this only
# sees to it that its programs are there. pgvector comes too where the distribution has it. The only
# line on stdout is the folder of the programs; all other output goes to stderr.
set -euo pipefail
say() { printf 'postgres-setup: %s\n' "$*" >&2; }

programs() {
  local folder
  for folder in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql@*/bin; do
    [ -x "$folder/initdb" ] && printf '%s\n' "$folder" && return
  done
  command -v initdb >/dev/null && dirname "$(command -v initdb)"
}

if [ -z "$(programs || true)" ]; then
  command -v apt-get >/dev/null || { say "initdb not found, and there is no apt-get"; exit 1; }
  say "installing postgresql"
  # no cluster is made: the tests make theirs
  mkdir -p /etc/postgresql-common
  printf 'create_main_cluster = false\n' >>/etc/postgresql-common/createcluster.conf
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql; } >&2
fi
found=$(programs)
version=$("$found/postgres" --version | grep -o '[0-9][0-9]*' | head -1)
if ! ls "$("$found/pg_config" --sharedir 2>/dev/null)"/extension/vector.control >/dev/null 2>&1; then
  { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "postgresql-$version-pgvector"; } \
    >/dev/null 2>&1 || say "pgvector can't be had here; its tests will say so"
fi
printf '%s\n' "$found"
