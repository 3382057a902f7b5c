#!/bin/sh
# ensure-node.sh <directory>: prints the directory with the Node packages that the
# package-lock.json of <directory>, below the clone, names. They are fetched with npm into
# .cache/node; Node.js itself with apt (as root). Only tests need this. Notes go to stderr.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
clone=$(CDPATH='' cd -- "$here/../.." && pwd)
cache=$clone/.cache/node/$(echo "$1" | tr / -)
needed_by="Tests with Node.js"
# shellcheck source=configs/setup/apt.sh
. "$here/apt.sh"
# shellcheck source=configs/setup/node.sh
. "$here/node.sh"

if [ -z "${HUB_SETUP_LOCKED:-}" ] && command -v flock >/dev/null; then
	mkdir -p "$clone/.cache/node"
	HUB_SETUP_LOCKED=1 exec flock "$cache.lock" sh "$here/ensure-node.sh" "$1"
fi
ensure_node || exit 1
fetch_packages "$clone/$1" "$cache" || { say "$needed_by: the packages of $1 could not be fetched (see above)"; exit 1; }
echo "$cache/node_modules"
