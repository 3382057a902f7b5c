# Sourced by the ensure-*.sh scripts: getting a Debian package, as root or not.
# shellcheck shell=sh

say() { echo "$*" >&2; }

# Runs a command quietly; shows what it printed only where it fails.
quietly() {
	if ! quiet_out=$("$@" 2>&1 </dev/null); then
		say "$quiet_out"
		return 1
	fi
}

have_apt() { command -v apt-get >/dev/null && command -v dpkg >/dev/null; }

# Installs packages as root. Nothing they bring may start a server: no service
# (policy-rc.d) and no PostgreSQL cluster.
apt_install() {
	apt_policy=/usr/sbin/policy-rc.d
	apt_cluster=/etc/postgresql-common/createcluster.d/integration-hub.conf
	apt_made=""
	if [ ! -e "$apt_policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$apt_policy" && chmod 755 "$apt_policy" && apt_made="$apt_policy"
	fi
	apt_cluster_dir=$(dirname "$apt_cluster")
	[ -d "$apt_cluster_dir" ] || mkdir -p "$apt_cluster_dir"
	echo "create_main_cluster = false" >"$apt_cluster"
	apt_result=0
	DEBIAN_FRONTEND=noninteractive quietly apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@" || apt_result=1
	rm -f "$apt_cluster"
	[ -z "$apt_made" ] || rm -f "$apt_made"
	return "$apt_result"
}

# Fetches the package lists where there are none.
apt_lists() {
	for apt_list in /var/lib/apt/lists/*_Packages*; do
		[ ! -e "$apt_list" ] || return 0
	done
	quietly apt-get -o DPkg::Lock::Timeout=300 update
}

# apt-get with lists of our own below $1, which needs no rights on the machine;
# what is installed is read from the machine.
apt_private() {
	apt_dir=$1
	shift
	mkdir -p "$apt_dir/lists/partial" "$apt_dir/archives/partial"
	apt-get -q -o "Dir::State::Lists=$apt_dir/lists" -o "Dir::Cache=$apt_dir" \
		-o "Dir::Cache::Archives=$apt_dir/archives" -o "Dir::State::extended_states=$apt_dir/extended_states" \
		-o Debug::NoLocking=1 -o "APT::Sandbox::User=$(id -un)" "$@"
}

# apt_extract <dir> <skip> <package>…: unpacks the packages, and what they need
# that this machine lacks, into <dir>; names matching the pattern <skip> are left
# out. The lists must be in <dir>.apt (apt_private <dir>.apt update).
apt_extract() {
	apt_to=$1 apt_skip=$2
	shift 2
	apt_work=$apt_to.apt
	mkdir -p "$apt_to"
	apt_plan=$(apt_private "$apt_work" -s --no-install-recommends install "$@") || return 1
	# "Inst name (version …)"; what is installed already is not in the plan.
	apt_names=$(printf '%s\n' "$@" "$(printf '%s\n' "$apt_plan" | sed -n 's/^Inst \([^ ]*\) .*/\1/p')" |
		sort -u | grep . | grep -Ev "$apt_skip")
	(
		cd "$apt_work/archives"
		for apt_name in $apt_names; do
			quietly apt_private "$apt_work" download "$apt_name" || exit 1
		done
		for apt_deb in *.deb; do
			dpkg -x "$apt_deb" "$apt_to" || exit 1
		done
	) || return 1
	rm -rf "$apt_work"
}

# apt_wrapper <program> <root>: prints a script that runs a program unpacked
# below <root> with the libraries unpacked beside it, wherever it is moved to.
# $here is the directory the script is in; <program> and <root> are relative to it.
apt_wrapper() {
	cat <<END
#!/bin/sh
here=\$(CDPATH= cd -- "\$(dirname -- "\$0")" && pwd -P)
root=\$here/$2
for dir in "\$root"/usr/lib/*-linux-* "\$root"/lib/*-linux-* "\$root"/usr/lib/*-linux-*/blas; do
	[ ! -d "\$dir" ] || LD_LIBRARY_PATH=\${LD_LIBRARY_PATH:+\$LD_LIBRARY_PATH:}\$dir
done
export LD_LIBRARY_PATH
exec "\$root/$1" "\$@"
END
}

# once_at_a_time <dir> <script>: starts the script again, holding a lock in
# <dir>, where the system has flock. Elsewhere runs work in directories of their
# own and the last one wins.
once_at_a_time() {
	mkdir -p "$1"
	if [ -z "${HUB_SETUP_LOCKED:-}" ] && command -v flock >/dev/null; then
		HUB_SETUP_LOCKED=1 exec flock "$1/.lock" sh "$2"
	fi
	# shellcheck disable=SC2064 # the directory is known now
	trap "rm -rf '$(printf %s "$1" | sed "s/'/'\\\\''/g")'/*.new-$$*" EXIT
}
