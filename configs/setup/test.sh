#!/usr/bin/env bash
# Vets and tests the packages given (default: all), and closes with a summary: with
# -vet=all go test does what go vet does, also to packages without tests, and not twice.
# VET=off leaves that to a linter that did it.
# PostgreSQL, Redis and a browser are fetched where this machine has none.
# What go test prints is shown as it comes and kept in .cache/test.log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -gt 0 ] || set -- ./...
mkdir -p .cache
log=.cache/test.log
began=$SECONDS

# What was fetched is found like what the machine has.
postgres=$(sh configs/setup/ensure-postgres.sh)
redis=$(sh configs/setup/ensure-redis.sh)
export PATH="$PATH:$postgres:$redis"
case " $* " in # what runs in a browser asks for it itself; fetching takes no test's time
*"./... "* | *"/scheduling/"*) sh configs/setup/ensure-browser.sh >/dev/null ;;
esac

race=(-race)
if [ "$(go env CGO_ENABLED)" != 1 ] || ! command -v "$(go env CC)" >/dev/null; then
	race=()
	echo "No C compiler here: testing without the race detector." >&2
fi

# A program under the race detector sleeps for a second before it ends, and each package's
# tests are one. Many tests wait for servers and timers, so one more package than there are
# processors runs at once.
export GORACE="${GORACE:-atexit_sleep_ms=0}"
processors=$(getconf _NPROCESSORS_ONLN)

# A hundred programs are linked: without what debuggers read (stack traces do not need it)
# that takes two thirds of the time.
status=0
go test -ldflags=-w -p $((processors + 1)) "${race[@]}" "-vet=${VET:-all}" -count=1 -timeout 25m "$@" 2>&1 | tee "$log" || status=$?

# Tests that measure times have the machine to themselves, and the program as it is shipped.
go list -f '{{.Dir}}' "$@" | while IFS= read -r dir; do [ ! -f "$dir/quiet_test.go" ] || echo "$dir"; done >.cache/quiet
while IFS= read -r dir; do
	(cd "$dir" && go test -trimpath -tags quiet -vet=all -count=1 -run "$(sed -nE 's/^func (Test[A-Za-z0-9_]+)\(.*/^\1$/p' quiet_test.go | paste -sd'|')" .) </dev/null 2>&1 | tee -a "$log" || status=$?
done <.cache/quiet

passed=$(grep -c '^ok  ' "$log" || true)
failed=$(grep -cE '^FAIL[[:space:]]+[^[:space:]]' "$log" || true)
untested=$(grep -cE '\[no test files\]$' "$log" || true)
echo
if [ "$failed" -gt 0 ]; then
	grep -E '^(FAIL[[:space:]]+[^[:space:]]|[[:space:]]*--- FAIL)' "$log" | sort -u
fi
verdict=PASS
[ "$status" = 0 ] || verdict=FAIL
echo "$verdict: $passed packages passed, $failed failed, $untested have no tests; $((SECONDS - began)) s${race:+, with the race detector}"
exit "$status"
