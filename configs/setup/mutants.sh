#!/usr/bin/env bash
# Mutation testing of packages: gremlins changes one operator or condition at a time, and
# the package's own tests have to fail. Prints the mutants that lived, that no test reached
# and that ran out of time, then a summary; fails where less than 90 % were killed.
#
# The share is killed / (killed + lived - equivalent), of the mutants that ran to an end.
# Gremlins does not see that the conditions of a switch's cases are tested: it lists them
# as not covered. Equivalent mutants behave like the code for every input; they are listed
# in configs/mutants/equivalent.txt by file, kind of mutant and expression.
#
# MUTANT_WORKERS is how many are tried at once: 2. MUTANT_TIMEOUT is after how many times
# the duration of the unchanged package's tests a mutant is late: 10. A busy machine needs
# more, because the time to build a mutant counts.
# usage: mutants.sh GREMLINS PACKAGE...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gremlins=$1
shift
postgres=$(sh configs/setup/ensure-postgres.sh)
redis=$(sh configs/setup/ensure-redis.sh)
export PATH="$PATH:$postgres:$redis"
# Mutants are built in copies of the tree: without their paths the build cache serves them all.
export GOFLAGS="${GOFLAGS:-} -trimpath -vet=off"
export LC_ALL=C # columns count bytes

results=$(mktemp)
trap 'rm -f "$results"' EXIT
for package in "$@"; do
	echo "== $package"
	"$gremlins" unleash "$package" --output-statuses lctkv --workers "${MUTANT_WORKERS:-2}" --timeout-coefficient "${MUTANT_TIMEOUT:-10}" --invert-logical |
		sed "s|^|${package#./} |" | tee -a "$results" | awk '/ (LIVED|NOT COVERED|TIMED OUT|NOT VIABLE) / { sub(/^[^ ]* /, ""); print }'
done

awk '
# configs/mutants/equivalent.txt: FILE KIND `EXPRESSION`: REASON
FILENAME != results {
	if (/^#/ || NF == 0) next
	split($0, part, "`")
	n++; file[n] = $1; kind[n] = $2; expression[n] = part[2]
	next
}
!($1 in seen) { seen[$1] = 1; packages[++count] = $1 }
/ KILLED .* at /      { killed[$1]++ }
/ TIMED OUT .* at /   { late[$1]++ }
/ NOT COVERED .* at / { uncovered[$1]++ }
/ LIVED .* at / {
	lived[$1]++
	split($NF, at, ":") # file, line, column of the operator
	path = $1 "/" at[1]
	for (line = 1; line <= at[2]; line++) if ((getline text < path) <= 0) break
	close(path)
	for (i = 1; i <= n; i++) {
		start = index(text, expression[i])
		if (file[i] == path && kind[i] == $3 && start > 0 && start <= at[3] && at[3] < start + length(expression[i])) {
			equivalent[$1]++
			used[i] = 1
			break
		}
	}
	if (i > n) survivors = survivors sprintf("  %s:%d:%d %s: %s\n", path, at[2], at[3], $3, substr(text, match(text, /[^\t]/)))
}
function share(k, l, e) { return k + l - e > 0 ? 100 * k / (k + l - e) : 100 }
END {
	printf "\n%-32s %8s %8s %8s %11s %10s %12s %7s\n", "package", "mutants", "killed", "lived", "equivalent", "timed out", "not covered", "share"
	for (i = 1; i <= count; i++) {
		p = packages[i]
		printf "%-32s %8d %8d %8d %11d %10d %12d %6.1f%%\n", p, killed[p] + lived[p] + late[p] + uncovered[p], killed[p], lived[p], equivalent[p], late[p], uncovered[p], share(killed[p], lived[p], equivalent[p])
		if (share(killed[p], lived[p], equivalent[p]) < 90) low = low " " p
		k += killed[p]; l += lived[p]; e += equivalent[p]; t += late[p]; u += uncovered[p]
	}
	printf "%-32s %8d %8d %8d %11d %10d %12d %6.1f%%\n", "all", k + l + t + u, k, l, e, t, u, share(k, l, e)
	if (survivors != "") printf "\nLived, and not equivalent:\n%s", survivors
	for (i = 1; i <= n; i++) {
		path = file[i]; sub("/[^/]*$", "", path)
		if (path in seen && !(i in used)) printf "configs/mutants/equivalent.txt: no mutant of %s lives in `%s`\n", file[i], expression[i]
	}
	if (low != "") { print "\nBelow 90 %:" low; exit 1 }
}' results="$results" configs/mutants/equivalent.txt results="$results" "$results"
