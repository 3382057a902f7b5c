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
needed_by="Browser tests"
# shellcheck source=configs/setup/apt.sh
. "$here/apt.sh"
# shellcheck source=configs/setup/node.sh
. "$here/node.sh"

good() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

find_browser() {
	if [ -n "${HUB_BROWSER:-}" ]; then
		good "$HUB_BROWSER" || { say "HUB_BROWSER is $HUB_BROWSER: no browser that runs there"; exit 1; }
		echo "$HUB_BROWSER"
		return
	fi
	# The headless shell is Chromium without its windows: the same pages for half the processor
	# time. A program that is only a hint how to get the real one does not run.
	for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable; do
		browser=$(command -v "$name" || true)
		if good "$browser"; then
			echo "$browser"
			return
		fi
	done
	return 1
}

# Prints the Debian package to install. Older releases have no headless shell.
browser_package() {
	if have_apt && [ "$(id -u)" = 0 ] && apt_lists && apt-cache show chromium-headless-shell >/dev/null 2>&1; then
		echo chromium-headless-shell
	else
		echo chromium
	fi
}

if [ -z "${HUB_SETUP_LOCKED:-}" ] && command -v flock >/dev/null; then
	mkdir -p "$cache"
	HUB_SETUP_LOCKED=1 exec flock "$cache/.browser.lock" sh "$here/ensure-browser.sh"
fi
browser=$(find_browser) || {
	[ -z "${HUB_BROWSER:-}" ] || exit 1
	ensure Chromium "$(browser_package)" || exit 1
	browser=$(find_browser) || { say "Browser tests: the Chromium that was installed does not run"; exit 1; }
}
ensure_node || exit 1
fetch_packages "$wanted" "$cache/browser" || { say "Browser tests: the packages could not be fetched (see above)"; exit 1; }
echo "$browser"
echo "$cache/browser/node_modules"
