#!/usr/bin/env bash
# lint.sh <hub program>: lints the OpenAPI documents of the hub and of its products. A warning
# fails as an error does.
set -euo pipefail
hub=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
modules=$(sh configs/setup/ensure-node.sh .ci/openapi)
documents=$(mktemp -d)
trap 'rm -rf "$documents"' EXIT
"$hub" openapi >"$documents/hub.json"
for product in scheduling messaging clinic; do
	"$hub" openapi --product "$product" >"$documents/$product.json"
done
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true

redocly() {
	node "$modules/@redocly/cli/bin/cli.js" lint --config .ci/openapi/redocly.yaml --format=codeframe --max-problems 1000 "$documents"/*.json >"$documents/redocly.log" 2>&1 &&
		! grep -qE '[0-9]+ warning|You have' "$documents/redocly.log"
}
redocly & first=$!
status=0
node "$modules/@stoplight/spectral-cli/dist/index.js" lint --ruleset .ci/openapi/spectral.yaml --fail-severity=hint "$documents"/*.json || status=$?
wait $first || { cat "$documents/redocly.log"; status=1; }
exit $status
