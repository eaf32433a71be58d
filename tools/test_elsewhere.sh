#!/usr/bin/env bash
# The tests where nothing is as it was where they were written: as an ordinary user, in a folder with spaces and an umlaut
# in its name, in the C locale, in another time zone, with load on the machine if asked for. Run by root:
#
#     tools/test_elsewhere.sh PYTHON [PYTEST-ARGUMENTS...]
#     LOAD=2 tools/test_elsewhere.sh python3.12 -k workers
set -euo pipefail
cd "$(dirname "$0")/.."
python=$("${1:?which Python?}" -c 'import sys; print(sys.executable)')
shift

place=$(mktemp -d)
folder="$place/ein Ordner für Tests"
cleanup() {
  jobs -p | xargs -r kill 2>/dev/null || true
  rm -rf "$place"
}
trap cleanup EXIT
mkdir "$folder" "$place/home" "$place/tmp"
git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$folder"
# An ordinary user may not look into root's home, where this Python may be: the environment gets a copy of it.
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
case "$prefix" in
  "$HOME"/*) cp -r "$prefix" "$place/python" && python="$place/python/bin/$(basename "$python")" ;;
esac
chown -R nobody "$place"
chmod 755 "$place"

for _ in $(seq "${LOAD:-0}"); do
  (while :; do :; done) &
done
cd "$folder"
as_nobody=(runuser -u nobody -- env -u XDG_CONFIG_HOME -u XDG_CACHE_HOME HOME="$place/home" TMPDIR="$place/tmp"
  TZ=Pacific/Chatham LC_ALL=C LD_LIBRARY_PATH="$place/python/lib" LINKEDBANDITS_NO_SKIPS=1)
"${as_nobody[@]}" "$python" -m venv .venv
# Not an editable install: up to Python 3.12 its path, with an umlaut, keeps Python from starting in the C locale.
"${as_nobody[@]}" .venv/bin/pip install --quiet --disable-pip-version-check '.[dev]'
"${as_nobody[@]}" .venv/bin/pip uninstall --quiet --yes linkedbandits
as_nobody+=(PYTHONPATH="$folder/src")
"${as_nobody[@]}" .venv/bin/python -m pytest -n auto --dist worksteal -q "$@"
