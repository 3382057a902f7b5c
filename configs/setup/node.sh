# Sourced by ensure-browser.sh and ensure-node.sh: Node.js, and packages as a lockfile has
# them. $needed_by says what for; $clone is the clone's directory.
# shellcheck shell=sh

have_node() { command -v npm >/dev/null && command -v node >/dev/null && node -e 'process.exit(process.versions.node.split(".")[0] >= 18 ? 0 : 1)'; }

# ensure <what is missing, for people> <package>…: installs packages as root on Debian.
ensure() {
	what=$1
	shift
	if have_apt && [ "$(id -u)" = 0 ]; then
		say "$needed_by: installing $what with apt"
		apt_lists && apt_install "$@" && return
	fi
	say "$needed_by: no $what here and no way to fetch it. Install it (as root: apt-get install $*)"
	say "and run this again."
	return 1
}

ensure_node() { have_node || ensure "Node.js 18 or later with npm" nodejs npm; }

# fetch_packages <directory of package.json and its lockfile> <cache>: the packages as the
# lockfile has them, in <cache>/node_modules; those of another lockfile are replaced.
fetch_packages() {
	if [ -d "$2/node_modules" ] && cmp -s "$1/package-lock.json" "$2/package-lock.json"; then
		return
	fi
	ensure_node || return 1
	say "$needed_by: fetching the packages of ${1#"$clone"/} from npm into ${2#"$clone"/}"
	new=$2.new-$$
	mkdir -p "$new"
	new=$(CDPATH='' cd -- "$new" && pwd -P) # npm ci refuses a prefix behind a symbolic link
	cp "$1/package.json" "$1/package-lock.json" "$new/"
	quietly npm ci --prefix "$new" --cache "$new/npm-cache" --no-audit --no-fund --ignore-scripts || { rm -rf "$new"; return 1; }
	rm -rf "$new/npm-cache" "$2"
	mv "$new" "$2"
}
