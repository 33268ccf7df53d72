# Commands for developers. `make run` and `make test` work on a new machine with Rust, Node and apt.

# Tests build into a cache outside the clone, which further clones share.
TEST_TARGET := $(or $(CARGO_TARGET_DIR),$(HOME)/.cache/haft/target)

# The prefix of `make install`.
PREFIX ?= /usr/local

.PHONY: run build install console test check crash crash-virtual upgrade clients real-model pictures bench guide

run: console ## build and start Haft
	cargo run --release -p haft --target-dir target -- serve

build: console ## build the release binary at target/release/haft
	cargo build --release -p haft --target-dir target

install: ## copy target/release/haft into PREFIX/bin, /usr/local/bin by default: `make install PREFIX=$HOME/.local`
	@test -x target/release/haft || { echo "target/release/haft does not exist: run make build first" >&2; exit 1; }
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 target/release/haft "$(DESTDIR)$(PREFIX)/bin/haft"

console: ## build the web console into web/dist
	scripts/console

test: ## run all checks of CI
	CARGO_TARGET_DIR=$(TEST_TARGET) scripts/test

check: ## run format, lint and the fast tests, during development; `make check CRATE=haft-core` for one crate
	cargo fmt --check
	scripts/prose --check
	CARGO_TARGET_DIR=$(TEST_TARGET) RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__" \
		cargo test --quiet $(if $(CRATE),--package $(CRATE),--workspace --exclude haft-bench) --lib --bins --tests

crash: ## kill servers N times, on SQLite and PostgreSQL: `make crash N=10000`; `SEED=…` repeats a run
	N=$(or $(N),1000) SEED=$(SEED) CARGO_TARGET_DIR=$(TEST_TARGET) scripts/crash

crash-virtual: ## simulate N crashes in virtual time and write docs/performance/crashes.md: `make crash-virtual N=1000000`
	N=$(N) CARGO_TARGET_DIR=$(TEST_TARGET) scripts/crash-virtual

upgrade: ## test an upgrade from the previous version on one PostgreSQL; the first run builds that version
	CARGO_TARGET_DIR=$(TEST_TARGET) scripts/upgrade

clients: ## test /v1 with third-party client libraries
	scripts/clients
	CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- clients::

real-model: ## test a conversation with a real small model, which is installed first (220 MB)
	scripts/real-model
	HAFT_REAL_MODEL=1 CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- clients::real_model --nocapture

pictures: ## take screenshots of every page, into web/test-results/pictures
	scripts/console
	HAFT_PICTURES=1 scripts/browser pictures

bench: ## run all benchmarks; `make bench ROWS=100000` for a smaller call log
	-scripts/nginx
	cargo build --release -p haft -p haft-bench --target-dir target
	target/release/haft-bench $(if $(ROWS),--rows $(ROWS))

guide: ## generate docs/guide/builtins.md and web/openapi.json from the definitions
	HAFT_WRITE_GUIDE=1 CARGO_TARGET_DIR=$(TEST_TARGET) cargo test --quiet -p haft --test it -- guide_matches_the_definitions openapi_document_of_the_console
