#!/bin/sh
# Make sure that there is a Chromium for the browser tests. Without one they are skipped; with CI=true that is an error.
set -eu

for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  echo "Installing Chromium for the browser tests"
  log=$(mktemp)
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium fonts-dejavu-core; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
  fi
  rm -f "$log"
  if command -v chromium >/dev/null 2>&1; then exit 0; fi
fi

if [ "${CI:-}" = true ]; then
  echo "There is no Chromium here and it could not be installed; in CI the browser tests must run." >&2
  exit 1
fi
echo "There is no Chromium here, so the browser tests are skipped. On Debian and Ubuntu: sudo apt-get install chromium fonts-dejavu-core"
