#!/usr/bin/env bash
# clients.sh <hub program>: generates clients from the OpenAPI documents of the hub and its
# products with oapi-codegen (and a strict server), openapi-typescript and
# @hey-api/openapi-ts, compiles them strictly, and calls a hub with each.
set -euo pipefail
hub=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
OAPI_CODEGEN_VERSION=v2.8.1
modules=$(sh configs/setup/ensure-node.sh .ci/openapi)
postgres=$(sh configs/setup/ensure-postgres.sh)
work=$(mktemp -d)
pid=
finish() {
	[ -z "$pid" ] || { kill "$pid" && wait "$pid" || true; } 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
chmod 755 "$work" # PostgreSQL runs as another user where this runs as root

PATH="$PATH:$postgres" "$hub" serve --data-dir "$work/data" --listen 127.0.0.1:0 >"$work/hub.log" 2>&1 & pid=$!
cp .ci/openapi/clients/* "$work"
cd "$work"
ln -s "$modules" node_modules
mkdir types sdk hub scheduling messaging clinic
products=(hub scheduling messaging clinic)
for product in "${products[@]}"; do
	flags=()
	[ "$product" = hub ] || flags=(--product "$product")
	"$hub" openapi "${flags[@]}" >"$product.json"
done
generate() {
	go run "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$OAPI_CODEGEN_VERSION" \
		-generate types,client,std-http-server,strict-server -package "$1" -o "$1/$1.gen.go" "$1.json"
	node "$modules/openapi-typescript/bin/cli.js" "$1.json" -o "types/$1.d.ts"
	node "$modules/@hey-api/openapi-ts/bin/run.js" -i "$1.json" -o "sdk/$1" --silent
}
for product in "${products[@]}"; do generate "$product" >>generate.log 2>&1 || { cat generate.log; exit 1; }; done
go build -o go-calls .
node "$modules/typescript/bin/tsc" -p .

for _ in $(seq 600); do [ ! -s data/local.json ] || break; sleep 0.1; done
[ -s data/local.json ] || { cat hub.log; exit 1; }
HUB_URL=$(node -p 'JSON.parse(require("fs").readFileSync("data/local.json")).url')
HUB_TOKEN=$(node -p 'JSON.parse(require("fs").readFileSync("data/local.json")).token')
export HUB_URL HUB_TOKEN
./go-calls
node js/calls.js
