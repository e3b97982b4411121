#!/usr/bin/env bash
# Install the real agentmemory 0.9.29 for differential tests.
#
#   bash agentmemory-setup.sh TARGET_DIR
#
# Needs npm and node 20 or newer; about 140 MB go under TARGET_DIR. The optional model runtime is left
# out, so the worker searches by words only; install scripts are not run. Running it again does only
# what is missing. The only line on stdout is TARGET_DIR, made absolute; all other output goes to
# stderr. The worker's engine, a compiled program that no registry has, is stood in for by
# mini-engine.mjs beside this file.
set -euo pipefail

target=${1:?usage: agentmemory-setup.sh TARGET_DIR}
version=0.9.29
say() { printf 'agentmemory-setup: %s\n' "$*" >&2; }

command -v node >/dev/null || { say "node not found"; exit 1; }
command -v npm >/dev/null || { say "npm not found"; exit 1; }
mkdir -p "$target"
target=$(cd "$target" && pwd)
package=$target/node_modules/@agentmemory/agentmemory/package.json
have() { [ -f "$package" ] && grep -q "\"version\": \"$version\"" "$package" && [ -f "$target/complete" ]; }

fetch() { # fetch DIR NAME SPEC...
  local folder=$1 name=$2
  shift 2
  mkdir -p "$folder"
  [ -f "$folder/package.json" ] || printf '{"name":"%s","private":true}\n' "$name" >"$folder/package.json"
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >&2
}

if ! have; then
  say "fetching @agentmemory/agentmemory@$version"
  fetch "$target" agentmemory-peer --save-exact --omit=optional "@agentmemory/agentmemory@$version"
  # the word segmenters that it uses without a model
  fetch "$target/segmenters" segmenters "@node-rs/jieba@^2.0.1" "tiny-segmenter@^0.2.0"
  cp -R "$target/segmenters/node_modules/." "$target/node_modules/"
  touch "$target/complete"
  have || { say "the package did not install"; exit 1; }
fi
say "agentmemory $version is ready"
printf '%s\n' "$target"
