#!/usr/bin/env bash
# Runs `make test` N times next to BUSY busy processes, until one fails: tests/repeat.sh [N] [BUSY]
# Each round's output is kept in .cache/repeat/.
set -uo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20} busy=${2:-2} logs=.cache/repeat
mkdir -p "$logs"
started=()
end() { [ ${#started[@]} -eq 0 ] || kill "${started[@]}" 2>/dev/null; }
trap end EXIT
trap 'exit 130' INT TERM HUP
for _ in $(seq "$busy"); do
  # bounded, should this script be killed: ten minutes for each round
  timeout $((rounds * 600)) sh -c 'while :; do :; done' &
  started+=($!)
done
for round in $(seq "$rounds"); do
  log=$logs/$round.log began=$SECONDS
  if make --no-print-directory test >"$log" 2>&1; then
    echo "round $round: passed in $((SECONDS - began)) s"
  else
    echo "round $round: failed in $((SECONDS - began)) s, see $log"
    grep -E '^(FAILED|ERROR)' "$log"
    exit 1
  fi
done
