#!/bin/sh
# Prints two lines on stdout: the path of Chromium, and the directory with the Node
# packages that the browser tests run with. What this machine lacks is fetched first:
# Chromium and Node.js with apt (as root), the packages with npm into .cache/browser.
# Only tests need this. Notes go to stderr.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
clone=$(CDPATH='' cd -- "$here/../.." && pwd)
cache=$clone/.cache
wanted=$clone/scheduling/pages/browser # package.json with its lockfile
# shellcheck source=configs/setup/apt.sh
. "$here/apt.sh"

good() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

find_browser() {
	if [ -n "${HUB_BROWSER:-}" ]; then
		good "$HUB_BROWSER" || { say "HUB_BROWSER is $HUB_BROWSER: no browser that runs there"; exit 1; }
		echo "$HUB_BROWSER"
		return
	fi
	# A program that is only a hint how to get the real one does not run.
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		browser=$(command -v "$name" || true)
		if good "$browser"; then
			echo "$browser"
			return
		fi
	done
	return 1
}

have_node() { command -v npm >/dev/null && command -v node >/dev/null && node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)'; }

# ensure <what is missing, for people> <package>…: installs packages as root on Debian.
ensure() {
	what=$1
	shift
	if have_apt && [ "$(id -u)" = 0 ]; then
		say "Browser tests: installing $what with apt"
		apt_lists && apt_install "$@" && return
	fi
	say "Browser tests: no $what here and no way to fetch it. Install it (as root: apt-get install $*)"
	say "and run this again."
	return 1
}

# The packages as the lockfile has them; those of another lockfile are replaced.
fetch_packages() {
	modules=$cache/browser/node_modules
	if cmp -s "$wanted/package-lock.json" "$cache/browser/package-lock.json" && [ -d "$modules/playwright-core" ] && [ -d "$modules/axe-core" ]; then
		return
	fi
	have_node || ensure "Node.js 18 or later with npm" nodejs npm || return 1
	say "Browser tests: fetching the packages of scheduling/pages/browser from npm into .cache/browser"
	new=$cache/browser.new-$$
	mkdir -p "$new"
	cp "$wanted/package.json" "$wanted/package-lock.json" "$new/"
	quietly npm ci --prefix "$new" --cache "$new/npm-cache" --no-audit --no-fund --ignore-scripts || { rm -rf "$new"; return 1; }
	rm -rf "$new/npm-cache" "$cache/browser"
	mv "$new" "$cache/browser"
}

if [ -z "${HUB_SETUP_LOCKED:-}" ] && command -v flock >/dev/null; then
	mkdir -p "$cache"
	HUB_SETUP_LOCKED=1 exec flock "$cache/.browser.lock" sh "$here/ensure-browser.sh"
fi
browser=$(find_browser) || {
	[ -z "${HUB_BROWSER:-}" ] || exit 1
	ensure Chromium chromium || exit 1
	browser=$(find_browser) || { say "Browser tests: the Chromium that was installed does not run"; exit 1; }
}
have_node || ensure "Node.js 18 or later with npm" nodejs npm || exit 1
fetch_packages || { say "Browser tests: the packages could not be fetched (see above)"; exit 1; }
echo "$browser"
echo "$cache/browser/node_modules"
