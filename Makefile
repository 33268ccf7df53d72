# What people run. `make run` and `make test` work on a fresh machine with Rust, Node and apt.

# Tests build into a cache outside the clone, so that a second clone need not start anew.
TEST_TARGET := $(or $(CARGO_TARGET_DIR),$(HOME)/.cache/haft/target)

# Where `make install` puts haft.
PREFIX ?= /usr/local

.PHONY: run build install console test check crash upgrade clients real-model pictures bench guide

run: console ## build and start Haft
	cargo run --release -p haft --target-dir target -- serve

build: console ## the release binary at target/release/haft
	cargo build --release -p haft --target-dir target

install: ## copies target/release/haft into PREFIX/bin: `make install PREFIX=$HOME/.local`; /usr/local by default
	@test -x target/release/haft || { echo "target/release/haft does not exist: run make build first" >&2; exit 1; }
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 target/release/haft "$(DESTDIR)$(PREFIX)/bin/haft"

console: ## the web console, into web/dist
	scripts/console

test: ## everything CI runs
	CARGO_TARGET_DIR=$(TEST_TARGET) scripts/test

check: ## the inner loop: format, lint, and the quick tests; `make check CRATE=haft-core` for one crate
	cargo fmt --check
	CARGO_TARGET_DIR=$(TEST_TARGET) RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__" \
		cargo test --quiet $(if $(CRATE),--package $(CRATE),--workspace --exclude haft-bench) --lib --bins --tests

crash: ## servers that die N times, on SQLite and PostgreSQL: `make crash N=10000`, and `SEED=…` for the same again
	N=$(or $(N),1000) SEED=$(SEED) CARGO_TARGET_DIR=$(TEST_TARGET) scripts/crash

upgrade: ## the release candidate beside this version on one PostgreSQL; builds the candidate the first time
	CARGO_TARGET_DIR=$(TEST_TARGET) scripts/upgrade

clients: ## the client libraries of others at /v1, each through its own program
	scripts/clients
	CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- clients::

real-model: ## a conversation with a real small model, which this installs (220 MB)
	scripts/real-model
	HAFT_REAL_MODEL=1 CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- clients::real --nocapture

pictures: ## pictures of every page, into web/test-results/pictures
	scripts/console
	HAFT_PICTURES=1 scripts/browser pictures

bench: ## figures of this machine, beside doing without Haft; `make bench ROWS=100000` for a smaller call log
	-scripts/nginx
	cargo build --release -p haft -p haft-bench --target-dir target
	target/release/haft-bench $(if $(ROWS),--rows $(ROWS))

guide: ## docs/guide/builtins.md and web/openapi.json, from the definitions
	HAFT_WRITE_GUIDE=1 CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- the_guide_says the_console_is_typed
