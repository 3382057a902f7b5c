# What can be done here: `make help`. Tools and servers that are missing are
# fetched into .cache, or installed with apt where root runs this on Debian.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

GOLANGCI_LINT_VERSION := v2.15.0
SQLC_VERSION := v1.31.1
GOVULNCHECK_VERSION := v1.1.4
GREMLINS_VERSION := v0.6.0

# Given on the command line: make run ARGS='--listen 127.0.0.1:8081'
ARGS ?=
PKG ?= ./...
FUZZTIME ?= 10s
KILLS ?= 25
RANDOM_KILLS ?= 200
MUTANTS ?= ./hub ./hub/events ./hub/module/brazil ./hub/internal/egress ./hub/internal/mask ./hub/internal/limit ./hub/internal/httpx ./hub/internal/strictjson \
	./hub/internal/eventtype ./hub/internal/filter ./hub/internal/logid ./hub/internal/sigcheck ./hub/module/table \
	./scheduling/internal/booking ./scheduling/internal/calendar ./scheduling/internal/proofofwork \
	./messaging/internal/chat ./messaging/internal/importfile ./clinic/internal/care ./clinic/internal/fhir ./clinic/internal/importfile

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT := $(shell git rev-parse HEAD 2>/dev/null || true)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# Go's own stamp fails where another user owns the clone; ours is in LDFLAGS. Without the
# clone's path in them, packages are compiled once for all clones of a machine. Without what
# debuggers read, which no program of ours keeps, compiling takes an eighth less.
export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -trimpath -gcflags=all=-dwarf=false)

TOOLS := .cache/bin
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
SQLC := $(TOOLS)/sqlc-$(SQLC_VERSION)
GOVULNCHECK := $(TOOLS)/govulncheck-$(GOVULNCHECK_VERSION)
GREMLINS := $(TOOLS)/gremlins-$(GREMLINS_VERSION)

# For commands that start PostgreSQL and Redis themselves: fetched ones are found like the machine's.
WITH_SERVERS := postgres=$$(sh configs/setup/ensure-postgres.sh); redis=$$(sh configs/setup/ensure-redis.sh); PATH="$$PATH:$$postgres:$$redis";

##@ Running

.PHONY: run
run: build ## Run the hub; fetches PostgreSQL where there is none. ARGS='--listen 127.0.0.1:8081 --data-dir ./data2'
	@[ -n "$${HUB_DATABASE_URL:-}" ] || sh configs/setup/ensure-postgres.sh >/dev/null
	@exec bin/hub serve $(ARGS)

.PHONY: build
build: ## Build bin/hub
	@mkdir -p bin
	@go build -trimpath -ldflags '$(LDFLAGS)' -o bin/hub ./cmd/hub

.PHONY: setup
setup: ## Fetch what tests need and this machine lacks: PostgreSQL, Redis, Chromium, npm packages
	@sh configs/setup/ensure-postgres.sh >/dev/null
	@sh configs/setup/ensure-redis.sh >/dev/null
	@sh configs/setup/ensure-browser.sh >/dev/null
	@sh configs/setup/ensure-node.sh hub/server/receivers >/dev/null
	@sh configs/setup/ensure-node.sh clinic/internal/api/fhirclients >/dev/null
	@sh configs/setup/ensure-node.sh .ci/openapi >/dev/null
	@sh configs/setup/ensure-node.sh hub/console >/dev/null

##@ Checking

.PHONY: test
test: ## Vet, then every test, with the race detector where there is a C compiler. PKG=./hub/... for some
	@bash configs/setup/test.sh $(PKG)

.PHONY: test-fast
test-fast: ## For the loop while working: vet and most tests, without the race detector; what did not change is not run again. Leaves out cmd/ with its chaos, configs/, the browser and killed processes (-short). PKG=./clinic/... for some
	@$(WITH_SERVERS) go list $(PKG) | { grep -vE '^integrationhub/(cmd|configs)/' || true; } | xargs -r go test -short -vet=all

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Lint: style, mistakes, and which package may import which
	@$(GOLANGCI_LINT) run $(ARGS)

.PHONY: lint-api
lint-api: build ## Lint the OpenAPI documents with Redocly and Spectral; warnings fail too. Needs Node.js
	@bash .ci/openapi/lint.sh bin/hub

.PHONY: check-clients
check-clients: build ## Generate clients in Go and TypeScript from the OpenAPI documents, compile them and call a hub. Needs Node.js
	@bash .ci/openapi/clients.sh bin/hub

.PHONY: check-generated
check-generated: ## Fail where generated files do not fit their sources
	@go test -count=1 -run '^TestGeneratedFiles$$' ./hub/config ./hub/events ./hub/internal/metrics ./hub/internal/store ./scheduling/internal/store ./messaging/internal/store ./clinic/internal/store ./hub/console

.PHONY: chaos
chaos: ## Kill the hub at every failpoint and at random moments, and count what was lost. KILLS=25 RANDOM_KILLS=200
	@$(WITH_SERVERS) go test -count=1 -timeout 120m -v ./cmd/bench/chaos -chaos.kills=$(KILLS) -chaos.random=$(RANDOM_KILLS) -chaos.pause=5ms

.PHONY: bench
bench: ## Measure the hub beside the floor program. ARGS="--only 'gateway-*' --json result.json"
	@$(WITH_SERVERS) go run ./cmd/bench run $(ARGS)

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (10s)
	@$(WITH_SERVERS) go list -f '{{.Dir}}' ./... | while IFS= read -r dir; do \
		{ grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$$dir"/*_test.go 2>/dev/null || true; } | while read -r _ target; do \
			(cd "$$dir" && go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) . </dev/null); \
		done; \
	done

.PHONY: mutants
mutants: $(GREMLINS) ## Change the pure packages in small ways, one at a time; their own tests must notice 90 %. MUTANTS='./hub ./hub/internal/mask'
	@bash configs/setup/mutants.sh $(GREMLINS) $(MUTANTS)

.PHONY: vuln
vuln: $(GOVULNCHECK) ## Look for known vulnerabilities; needs the network
	@status=0; $(GOVULNCHECK) ./... || status=$$?; \
	if [ $$status -ne 0 ] && [ $$status -ne 3 ]; then \
		echo "govulncheck did not get to check anything (see above). It needs Go's vulnerability database from the network." >&2; \
	fi; \
	exit $$status

##@ Changing

.PHONY: generate
generate: $(SQLC) ## Make the generated files anew: SQL code, the references of settings and metrics, the example file
	cd hub/internal/store && ../../../$(SQLC) generate
	cd scheduling/internal/store && ../../../$(SQLC) generate
	cd messaging/internal/store && ../../../$(SQLC) generate
	cd clinic/internal/store && ../../../$(SQLC) generate
	go test -count=1 -run '^TestGeneratedFiles$$' ./hub/internal/store ./scheduling/internal/store ./messaging/internal/store ./clinic/internal/store -update
	go test -count=1 -run '^TestGeneratedFiles$$' ./hub/config ./hub/events ./hub/internal/metrics -update

.PHONY: console
console: ## Build the console's pages into hub/console/dist, which is committed
	go test -count=1 -run '^TestGeneratedFiles$$' ./hub/console -update

.PHONY: layout
layout: ## Write the references of the booking pages' layout anew, in scheduling/pages/testdata/layout: look at what changed before committing
	go test -count=1 -run '^TestLayout$$' ./scheduling/pages -update

.PHONY: clean
clean: ## Remove what was built and fetched. ./data stays
	rm -rf bin .cache

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

# $(call fetch_tool,module path,version): builds a tool into $(TOOLS) under the
# name of the target. A tool of that very version on PATH serves as well.
define fetch_tool
	@mkdir -p $(TOOLS)
	@name=$$(basename $(1)); \
	if found=$$(command -v "$$name") && go version -m "$$found" 2>/dev/null | grep -qE "^[[:space:]]mod[[:space:]].*[[:space:]]$(2)([[:space:]]|$$)"; then \
		ln -sf "$$found" $@; \
	else \
		echo "building $$name $(2) into $(TOOLS) (once)" >&2; \
		GOBIN="$$PWD/$(TOOLS)/new" GOFLAGS= go install $(1)@$(2); \
		mv -f "$(TOOLS)/new/$$name" $@; \
	fi
endef

$(GOLANGCI_LINT):
	$(call fetch_tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,$(GOLANGCI_LINT_VERSION))

$(SQLC):
	$(call fetch_tool,github.com/sqlc-dev/sqlc/cmd/sqlc,$(SQLC_VERSION))

$(GREMLINS):
	$(call fetch_tool,github.com/go-gremlins/gremlins/cmd/gremlins,$(GREMLINS_VERSION))

$(GOVULNCHECK):
	$(call fetch_tool,golang.org/x/vuln/cmd/govulncheck,$(GOVULNCHECK_VERSION))
