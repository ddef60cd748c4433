# The two commands of the README, and short names for the developer commands (cargo xtask help).
# Needs a Rust toolchain; `make test` fetches PostgreSQL from Debian's packages when it is missing: pgbench and psql, and the server
# that answers are compared with.

ifneq ($(HOME),)
CARGO_TARGET_DIR ?= $(HOME)/.cache/hyades/target
export CARGO_TARGET_DIR
endif

DATA ?= ./data
LISTEN ?= 127.0.0.1:5433
SERVE_OPTIONS ?=

.PHONY: serve test ci tidy crash bench fuzz loom packages

serve:
	mkdir -p $(DATA)
	cargo run --release --package hyades-server -- serve --data $(DATA) --listen $(LISTEN) $(SERVE_OPTIONS)

test: packages
	cargo xtask ci

ci: test

tidy crash bench fuzz loom:
	cargo xtask $@

# Only when something is missing, and only then root is needed.
packages:
	@missing=; for program in pgbench psql initdb postgres; do \
	  ls /usr/lib/postgresql/*/bin/$$program >/dev/null 2>&1 || command -v $$program >/dev/null 2>&1 || missing="$$missing $$program"; \
	done; \
	if [ -n "$$missing" ]; then \
	  echo "missing:$$missing: installing Debian's package postgresql"; \
	  if [ "$$(id -u)" -eq 0 ]; then root=; elif command -v sudo >/dev/null 2>&1; then root=sudo; else \
	    echo "this needs root: run 'apt-get install postgresql' as root, then 'make test' again" >&2; exit 1; fi; \
	  $$root env DEBIAN_FRONTEND=noninteractive apt-get update && \
	  $$root env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends postgresql postgresql-client; \
	fi
