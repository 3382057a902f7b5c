#!/bin/sh
# Prints the directory of redis-server on stdout, after fetching it with apt
# where this machine has none (as root: installed; else: unpacked into
# .cache/redis). It starts no server. Only tests and benchmarks need this. Notes
# go to stderr.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=$(CDPATH='' cd -- "$here/../.." && pwd)/.cache
# shellcheck source=configs/setup/apt.sh
. "$here/apt.sh"

good() { [ -x "$1" ] && "$1" --version >/dev/null 2>&1; }

find_program() {
	for program in "$(command -v redis-server || true)" "$cache/redis/bin/redis-server"; do
		if good "$program"; then
			echo "${program%/*}"
			return
		fi
	done
	return 1
}

from_apt_as_root() {
	have_apt && [ "$(id -u)" = 0 ] || return 1
	say "Redis: installing redis-server with apt (for tests)"
	apt_lists && apt_install redis-server
}

from_apt_unpacked() {
	have_apt || return 1
	say "Redis: unpacking the distribution's redis-server into .cache/redis (for tests)"
	new=$cache/redis/deb.new-$$
	# Debian's redis-server holds a link; the program itself is in redis-tools.
	quietly apt_private "$new.apt" update || return 1
	apt_extract "$new" '^(adduser|debconf|perl|lsb-)' redis-server redis-tools || return 1
	mkdir "$new/bin"
	apt_wrapper usr/bin/redis-server .. >"$new/bin/redis-server"
	chmod +x "$new/bin/redis-server"
	good "$new/bin/redis-server" || { say "Redis: the unpacked program does not run on this system"; return 1; }
	rm -rf "$cache/redis/deb"
	mv "$new" "$cache/redis/deb"
	ln -sfn deb/bin "$cache/redis/bin"
}

if find_program; then
	exit
fi
once_at_a_time "$cache/redis" "$here/ensure-redis.sh"
if find_program; then # fetched by another run meanwhile
	exit
fi
if from_apt_as_root || from_apt_unpacked; then
	if find_program; then
		exit
	fi
fi
say "Redis: redis-server not found and no way to fetch it. Install it (apt-get install redis-server,"
say "dnf install redis, brew install redis) and run this again."
exit 1
