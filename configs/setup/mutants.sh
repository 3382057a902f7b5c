#!/usr/bin/env bash
# Mutation testing of packages: gremlins changes one operator or condition at a time, and
# the package's own tests have to fail. Prints the mutants that lived and a summary for
# each package; fails below 90 % caught.
# usage: mutants.sh GREMLINS PACKAGE...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
gremlins=$1
shift
postgres=$(sh configs/setup/ensure-postgres.sh)
redis=$(sh configs/setup/ensure-redis.sh)
export PATH="$PATH:$postgres:$redis"
status=0
for package in "$@"; do
	echo "== $package"
	# What the compiler refuses and what no test reaches is listed too; only mutants that ran count.
	"$gremlins" unleash "$package" --output-statuses lct --workers 2 --timeout-coefficient 20 \
		--invert-logical --threshold-efficacy 90 || status=$?
done
exit "$status"
