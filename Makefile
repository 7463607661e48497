# What a stranger and the machine that checks changes type. CARGO, PYTHON and the like may be set from outside.

CARGO ?= cargo
DEMO  ?= target/demo

.PHONY: demo test bench lint fmt man

# Nine parallel programs, each for itself, and an rt-app file, on a model of the Odroid-XU3.
demo:
	CARGO="$(CARGO)" ./demo.sh $(DEMO)

test:
	$(CARGO) test --workspace --all-targets
	$(CARGO) test --workspace --doc
	./tests/run-tools.sh

bench:
	$(CARGO) bench --workspace

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items

fmt:
	$(CARGO) fmt --all

# Manual pages and shell completions, into target/.
man:
	$(CARGO) run --release -p evenkeel-cli -- man target/man
