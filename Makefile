# The jobs of this repository. Every one may be repeated: what is done already is not done again.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# A toolchain that rustup has just installed is not always in PATH yet.
CARGO ?= $(shell command -v cargo || echo "$$HOME/.cargo/bin/cargo")
export CARGO

# Where cargo builds. One directory for all jobs: they share what is compiled.
CARGO_TARGET_DIR ?= target
export CARGO_TARGET_DIR

# PostgreSQL majors that the tests fetch, where Maven is there, beside what is installed; `make test MAJORS=` fetches none.
MAJORS ?= 14 16 17 18

# Where `make install` puts things; packagers set DESTDIR too.
PREFIX ?= $(if $(filter 0,$(shell id -u)),/usr/local,$(HOME)/.local)

FATHOM := $(CARGO_TARGET_DIR)/release/fathom
PAPERS := $(CARGO_TARGET_DIR)/papers

.PHONY: help
help: ## Lists the jobs
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

.PHONY: demo
demo: ## Installs what is missing, builds, and runs two published experiments in miniature on embedded SQLite
	@scripts/install-deps.sh demo
# Where the program is not there yet: first what the demo runs, without the checkers, and its tables; then the rest. Nothing
# but the last crate is compiled twice. Its name is another, so that no part is ever taken for the whole.
	@if [ -x $(FATHOM) ]; then \
		$(CARGO) build --locked --release -p fathom; $(FATHOM) demo; \
	else \
		$(CARGO) build --locked --release -p fathom --no-default-features --features tls; \
		mv $(FATHOM) $(FATHOM)-demo; \
		status=0; $(FATHOM)-demo demo || status=$$?; \
		rm -f $(FATHOM)-demo; \
		echo "demo: building the rest of \"$(FATHOM)\", the checkers (\`make build\` does it later as well)" >&2; \
		$(CARGO) build --locked --release -p fathom; \
		exit $$status; \
	fi

.PHONY: build
build: ## Builds the program, optimised
	@$(CARGO) build --locked --release -p fathom

.PHONY: test
test: ## Installs what the tests need, checks style and lints, and runs all tests
	@scripts/install-deps.sh test
	@$(MAKE) --no-print-directory fetch-postgres
	$(CARGO) fetch --locked --quiet
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets --features fathom/png -- -D warnings
	@skips=$$(mktemp); status=0; \
	FATHOM_SKIPS=$$skips $(CARGO) test --locked --workspace --no-fail-fast --features fathom/png || status=$$?; \
	scripts/skips.sh $$skips; rm -f $$skips; exit $$status

.PHONY: fetch-postgres
fetch-postgres: ## Fetches PostgreSQL servers of further majors for the tests, where Maven is there
	@if [ -n "$(MAJORS)" ] && command -v mvn >/dev/null; then \
		timeout 300 scripts/fetch-postgres.sh $(MAJORS) | { grep -v 'already there' || true; } || \
			echo "fetch-postgres: going on with the servers that are there"; \
	fi

.PHONY: bench
bench: build ## Measures speed side by side with other tools (takes minutes; wants an idle machine)
	@shopt -s nullglob; scripts=(benches/*.sh); \
	if [ $${#scripts[@]} = 0 ]; then echo "bench: there are no scripts in benches/"; fi; \
	for script in "$${scripts[@]}"; do echo "bench: $$script"; bash "$$script"; done

# `make fuzz TARGET="sqlite_file archive" TIME=600`: one target or several, seconds for each.
TIME ?= 60
TARGET ?=
# Where the random numbers begin: 0 is another place each time.
SEED ?= 0

.PHONY: fuzz
fuzz: ## Fuzzes what reads bytes from outside: every target, or TARGET=, for TIME=60 seconds each
	@SEED=$(SEED) scripts/fuzz.sh $(TIME) $(TARGET)

.PHONY: miri
miri: ## Runs under Miri what can: buffers, transfers by threads, parsers, histograms (installs the nightly component)
	@scripts/miri.sh

.PHONY: man
man: build ## Writes the manual page
	@mkdir -p $(PAPERS)
	@$(FATHOM) man > $(PAPERS)/fathom.1
	@echo "$(PAPERS)/fathom.1"

.PHONY: completions
completions: build ## Writes the completion scripts for bash, zsh and fish
	@mkdir -p $(PAPERS)
	@$(FATHOM) completions bash > $(PAPERS)/fathom.bash
	@$(FATHOM) completions zsh > $(PAPERS)/_fathom
	@$(FATHOM) completions fish > $(PAPERS)/fathom.fish
	@echo "$(PAPERS)/fathom.bash $(PAPERS)/_fathom $(PAPERS)/fathom.fish"

.PHONY: install
install: build man completions ## Installs program, manual page and completions below PREFIX
	install -D -m 755 $(FATHOM) "$(DESTDIR)$(PREFIX)/bin/fathom"
	install -D -m 644 $(PAPERS)/fathom.1 "$(DESTDIR)$(PREFIX)/share/man/man1/fathom.1"
	install -D -m 644 $(PAPERS)/fathom.bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/fathom"
	install -D -m 644 $(PAPERS)/_fathom "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_fathom"
	install -D -m 644 $(PAPERS)/fathom.fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/fathom.fish"

.PHONY: clean
clean: ## Removes what was built (never results)
	$(CARGO) clean
