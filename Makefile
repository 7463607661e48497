# What a stranger types, and the machine that checks changes.

CARGO    ?= cargo
EVENKEEL  = $(CARGO) run --quiet --release -p evenkeel --
DEMO      = target/demo-out
# Cargo says itself how far it is: it is not to be silenced.
DEMO_RUN  = $(BUILT)/demo/evenkeel
# Where cargo puts what it builds.
BUILT     = $(abspath $(or $(CARGO_TARGET_DIR),target))
# Made by tests/setup-python.sh.
PYTHON    = $(CURDIR)/target/python/venv/bin/python
ACTIONLINT = $(BUILT)/tools/actionlint
# On the PATH, or where tests/setup-book.sh installs it.
MDBOOK    = $$(command -v mdbook || echo $(BUILT)/tools/bin/mdbook)
# What cbindgen writes has its own form.
C_FILES   = $$(git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | grep -v '/evenkeel\.h$$')
# What tests in virtual machines tried once more, and why.
RETRIES   = $(BUILT)/vm-retries

# The nine parallel programs of the maturity study, each by itself, eight programs that compete, and
# an rt-app file (workloads/rtapp-mixed.json).
PROGRAMS  = blackscholes bodytrack canneal dedup facesim ferret fluidanimate streamcluster swaptions
WORKLOADS = $(PROGRAMS) 4STH-2STM-2STL rtapp-mixed
POLICIES  = linux,pinned,gts,hsp,acfs,age

# The mechanism in BPF takes libelf and zlib: looked for when it is needed, tests/setup-vm.sh may
# have installed them. Its object is checked in.
SCHED_EXT = $$(./tests/features.sh)
# Where the clang is that made the object, it is made once more and compared.
COMPARE_BPF = $$(command -v clang-19 >/dev/null && echo EVENKEEL_BPF=compare)

.PHONY: demo test install-c uninstall-c dist dist-aarch64 dist-check race apps-test vm-test \
        vm-test-long bench bench-lab bench-live bench-vm bench-programs bench-vm-lab bench-factors bench-counters \
        bench-sweep bench-python bench-omp bench-runtime sweep-test omp-test wheel notebooks lint docs-check docs-update book hot-paths hot-paths-update fmt man

# On a model of the Odroid-XU3: a table, a page with plots and timelines, a trace of one run.
demo:
	@mkdir -p $(DEMO)
	@echo "Building evenkeel, a minute or two the first time, then six policies on eleven workloads"
	$(CARGO) build --profile demo -p evenkeel
	$(DEMO_RUN) compare -m odroid-xu3-paper --each $(WORKLOADS:%=-w %) -p $(POLICIES) --html report.html
	@$(DEMO_RUN) simulate -m odroid-xu3-paper -w bodytrack --size 0.1 -p gts --trace $(DEMO)/bodytrack.pftrace >$(DEMO)/bodytrack.txt
	@echo
	@echo "Plots and timelines, for any browser:    $(CURDIR)/report.html"
	@echo "A run of bodytrack for ui.perfetto.dev:  $(abspath $(DEMO))/bodytrack.pftrace"

# Everything but virtual machines and sanitizers: a quarter of an hour or so on two cores, most of
# it the compiler's.
test:
	./tests/setup-perfetto.sh
	./tests/setup-c.sh
	./tests/setup-valgrind.sh
	./tests/setup-python.sh
	./tests/setup-slurm.sh
	./tests/setup-openmp.sh
	SELECT="--workspace $(SCHED_EXT) --lib --examples" $(CARGO) test --workspace $(SCHED_EXT) \
		|| { ./tests/setup-slurm.sh stop; exit 1; }
	./tests/setup-slurm.sh stop
	./tests/run-pages.sh
	@echo
	@echo "All that make test has. make vm-test: the policies in virtual machines, a quarter of an hour."
	@echo "make race: the runtime's protocols under loom and ThreadSanitizer."

# The runtime for C and C++ (docs/parallel/c-and-c++.md): headers, libraries, CMake package,
# pkg-config file.
install-c:
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" CARGO="$(CARGO)" ./crates/capi/install.sh

uninstall-c:
	PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" ./crates/capi/install.sh remove

# A .tar.gz and a .deb with the binary, sched_ext in it, manual pages, completions and the systemd
# unit, and a .tar.gz of the runtime for C and C++, into target/dist. Takes libelf and zlib to link
# in.
dist:
	CARGO="$(CARGO)" ./dist/build.sh

# The same for aarch64, by Debian's cross compiler; the binary is tried under qemu-user.
dist-aarch64:
	./dist/setup-aarch64.sh
	CARGO="$(CARGO)" TARGET=aarch64-unknown-linux-gnu ./dist/build.sh
	./dist/check.sh aarch64

# What make dist has made, in an empty root: needs root.
dist-check:
	./dist/check.sh

# The runtime's protocol between threads (crates/runtime/README.md): models by loom, a million
# random graphs, ten thousand pools, and its tests under ThreadSanitizer.
race:
	RUSTFLAGS="--cfg loom" $(CARGO) test --release -p evenkeel-runtime --lib --target-dir target/loom models
	EVENKEEL_GRAPHS=1000000 $(CARGO) test --release -p evenkeel-runtime --test runtime many_random_graphs
	EVENKEEL_POOLS=10000 $(CARGO) test --release -p evenkeel-runtime --test leaks
	./tests/race.sh

# Checksums of the mini-apps in all versions with medium and large inputs, too (`make test` has
# small ones): a quarter of an hour.
apps-test:
	for size in medium large; do EVENKEEL_APPS_SIZE=$$size $(CARGO) test --release -p evenkeel-apps --test versions -- --test-threads=2 || exit 1; done

# Ten thousand cases whose workers are killed at random, here, on Dask and on Slurm, end with the
# bytes of a sweep that nothing disturbs: some minutes.
sweep-test:
	./tests/setup-python.sh
	./tests/setup-slurm.sh
	EVENKEEL_SWEEP_TEST=full $(CARGO) test --workspace $(SCHED_EXT) --test end_to_end ten_thousand -- \
		--ignored --nocapture --test-threads=1 || { ./tests/setup-slurm.sh stop; exit 1; }
	./tests/setup-slurm.sh stop
	EVENKEEL_SWEEP_TEST=full $(CARGO) test --workspace $(SCHED_EXT) --test package -- --nocapture

# OpenMP programs with the library of `evenkeel omp` and without: all loops, all compilers that
# Debian 12 has, teams of one to nine. Some ten minutes.
omp-test:
	./tests/setup-openmp.sh full
	EVENKEEL_OMP_TEST=full $(CARGO) test -p evenkeel-openmp --test conformance -- --nocapture

# The package for Python, into target/wheels: one wheel for each version from 3.10 on.
wheel:
	./tests/setup-python.sh
	@rm -f $(BUILT)/wheels/evenkeel-*.whl
	$(PYTHON) -m maturin build --release --manifest-path crates/python/Cargo.toml --out $(BUILT)/wheels

# Executes the notebooks in docs/notebooks anew, with the package as a user has it.
notebooks: wheel
	$(PYTHON) -m pip install --quiet --force-reinstall --no-deps $(BUILT)/wheels/evenkeel-*.whl
	$(PYTHON) docs/notebooks/execute.py

# Those that boot virtual machines, one after the other; with policies as the kernel's scheduler
# where the mechanism in BPF can be built. Kernels are fetched once, into target/vm-cache. Packages
# are chosen as in make test, so that nothing is built twice.
vm-test:
	./tests/setup-vm.sh
	@test -n "$(SCHED_EXT)" || test "$$EVENKEEL_VM" != required \
		|| { echo "no libelf or zlib, which EVENKEEL_VM=required requires (tests/setup-vm.sh)"; exit 1; }
	$(CARGO) test --workspace $(SCHED_EXT) --test cgroup_v2 -- --ignored --nocapture
	$(CARGO) build --workspace $(SCHED_EXT) --examples
	@rm -f $(RETRIES)
	EVENKEEL_RETRIES=$(RETRIES) $(CARGO) test --workspace $(SCHED_EXT) --test vm -- \
		--include-ignored --skip in_the_longer_run --nocapture --test-threads=1
	@if test -s $(RETRIES); then sort $(RETRIES); fi
	@echo "virtual machines: $$(cat $(RETRIES) 2>/dev/null | wc -l) tries were made once more, each for the reason above"

# All policies on the older and the newer kernels, too: a quarter of an hour.
vm-test-long:
	./tests/setup-vm.sh
	$(CARGO) build --workspace $(SCHED_EXT) --examples
	$(CARGO) test --workspace $(SCHED_EXT) --test vm -- --ignored in_the_longer_run --nocapture --test-threads=1

# Beside simcore and SimPy, in one run; also the start of the binary itself. Writes
# docs/benchmarks/simulator.md.
bench:
	@test -x target/venv-bench/bin/python || { python3 -m venv target/venv-bench && target/venv-bench/bin/pip install --quiet simpy; } \
		|| echo "python3 with venv, or SimPy, is not to be had: left out"
	$(CARGO) build --release -p evenkeel
	$(CARGO) bench -p evenkeel-sim --bench engine

# How slow the cores of evenkeel lab become; needs CAP_SYS_NICE and a quiet machine.
bench-lab:
	$(CARGO) bench -p evenkeel-linux --bench lab

# Policies on real threads, in the lab and out of it: some ten minutes on a quiet machine; needs
# CAP_SYS_NICE. Writes docs/benchmarks/live.md.
bench-live:
	$(CARGO) build --release -p evenkeel
	$(CARGO) build --release -p evenkeel-linux --examples
	EVENKEEL=$(BUILT)/release/evenkeel EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/live.md $(CARGO) bench -p evenkeel-linux --bench live

# Schedulers beside each other in the hybrid VM lab: an hour and a quarter on a quiet machine, or
# less with fewer than five EVENKEEL_BENCH_ROUNDS; needs what docs/labs/virtual-machines.md names.
# Writes docs/benchmarks/vm.md.
bench-vm:
	./tests/setup-vm.sh rt-tests
	@for peer in scx_bpfland scx_lavd; do test -x target/peers/bin/$$peer \
		|| BPF_CLANG=clang-19 $(CARGO) install $$peer --version 1.1.4 --locked --root target/peers || echo "$$peer cannot be built: left out"; done
	$(CARGO) build --release -p evenkeel --features sched_ext
	$(CARGO) build --release -p evenkeel-linux --examples
	EVENKEEL=$(BUILT)/release/evenkeel EVENKEEL_PEERS=$(CURDIR)/target/peers/bin EVENKEEL_CACHE=$(CURDIR)/target/vm-cache \
		EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/vm.md $(CARGO) bench -p evenkeel-linux --bench vm

# Twelve programs that Debian ships, under the kernel alone and under policies, in both labs: hours
# on a quiet machine, in rounds of which each is kept. It can be broken off and gone on with, and
# crates/linux/benches/programs/main.rs says what can be chosen. Writes docs/benchmarks/programs.md,
# and what it is made of beside it. `make bench-programs QUICK=1`: one small round into
# target/bench-programs. `make bench-programs PAGE=1`: the page alone.
bench-programs:
	./tests/setup-vm.sh
	./tests/setup-programs.sh
	$(CARGO) build --release -p evenkeel $(SCHED_EXT)
	EVENKEEL=$(BUILT)/release/evenkeel EVENKEEL_CACHE=$${EVENKEEL_CACHE:-$(CURDIR)/target/vm-cache} \
		EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/programs.md $(CARGO) bench -p evenkeel-linux --bench programs -- $(if $(QUICK),--quick) $(if $(PAGE),--page)

# Speedup factors of ten programs that Debian ships, by cachegrind and the interval model: some five
# minutes. Writes docs/benchmarks/factors.md.
bench-factors:
	./tests/setup-valgrind.sh
	./tests/setup-programs.sh gzip bzip2 xz-utils zstd flac perl-base mawk coreutils minisat glpk-utils
	$(CARGO) build --release -p evenkeel
	python3 tests/sample_programs.py $(BUILT)/release/evenkeel docs/benchmarks/factors.md

# What going by a model costs: half a minute. Writes docs/benchmarks/counters.md.
bench-counters:
	EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/counters.md $(CARGO) bench -p evenkeel-linux --bench counters

# What a sweep costs beside the bare engine, and its memory at a hundred thousand and at a million
# cases: some ten minutes. Writes docs/benchmarks/sweep.md.
bench-sweep:
	EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/sweep.md $(CARGO) bench -p evenkeel-sweep --bench sweep

# What the package for Python costs beside the engine, and Dask beside the same number of jobs here:
# some ten minutes on a quiet machine. Writes docs/benchmarks/python.md.
bench-python: wheel
	$(PYTHON) -m pip install --quiet --force-reinstall --no-deps $(BUILT)/wheels/evenkeel-*.whl
	$(CARGO) bench --no-run -p evenkeel-sweep --bench sweep
	$(PYTHON) crates/python/benches/costs.py "$(CARGO)" $(CURDIR)/docs/benchmarks/python.md

# OpenMP programs as they are beside evenkeel omp, in the lab and on equal cores: some fifteen
# minutes on a quiet machine; the lab needs CAP_SYS_NICE. Writes docs/benchmarks/omp.md.
bench-omp:
	./tests/setup-openmp.sh
	EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/omp.md $(CARGO) bench -p evenkeel --bench omp

# How steady the cores of evenkeel vm are, and what the kernel's own scheduler makes of them: some
# five minutes on a quiet machine, as root.
bench-vm-lab:
	EVENKEEL_CACHE=$(CURDIR)/target/vm-cache $(CARGO) bench -p evenkeel-vm --bench lab

# The runtime beside LLVM's and GNU's OpenMP, oneTBB, Taskflow and rayon, on equal cores, in the lab
# at 2:1, 3:1 and 4:1, and beside another program: some twenty-five minutes on a quiet machine; the
# lab needs CAP_SYS_NICE. Writes docs/benchmarks/runtime.md. `make bench-runtime QUICK=1`: few
# rounds, of the lab 3:1 only, writes nothing.
bench-runtime:
	./crates/runtime/benches/peers/setup.sh target/bench-runtime
	$(CARGO) build --release -p evenkeel
	EVENKEEL=$(BUILT)/release/evenkeel EVENKEEL_PEERS=$(CURDIR)/target/bench-runtime \
		$(if $(QUICK),,EVENKEEL_BENCH_OUT=$(CURDIR)/docs/benchmarks/runtime.md) $(CARGO) bench -p evenkeel-runtime --bench runtime $(if $(QUICK),-- --quick)

# With and without the mechanism in BPF, where it can be built.
lint: docs-check hot-paths
	./tests/setup-vm.sh clang-format-19
	$(CARGO) fmt --all --check
	@if command -v clang-format-19 >/dev/null; then clang-format-19 --dry-run -Werror $(C_FILES); \
		else echo "clang-format-19 is not installed: the form of C and C++ not looked at"; fi
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps
	@if [ -n "$(SCHED_EXT)" ]; then \
		echo "once more with the feature sched_ext" \
		&& env $(COMPARE_BPF) $(CARGO) clippy -p evenkeel-linux -p evenkeel $(SCHED_EXT) --all-targets -- -D warnings \
		&& RUSTDOCFLAGS="-D warnings" $(CARGO) doc -p evenkeel-linux -p evenkeel $(SCHED_EXT) --no-deps; \
	else echo "without the feature sched_ext: it takes libelf and zlib (tests/setup-vm.sh)"; fi
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny check licenses bans sources; \
		else echo "cargo-deny is not installed: tests/structure has looked at licences and sources alone"; fi
	@command -v actionlint >/dev/null || test -x $(ACTIONLINT) || ! command -v go >/dev/null \
		|| GOBIN=$(dir $(ACTIONLINT)) go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 || true
	@if command -v actionlint >/dev/null; then actionlint; elif test -x $(ACTIONLINT); then $(ACTIONLINT); \
		else echo "neither actionlint nor go is installed: .github/workflows not looked at"; fi

# README and docs (tests/docs): blocks of text are what their commands print now, links and anchors
# lead somewhere, the table of contents is whole, sentences and lines are short.
docs-check:
	$(CARGO) test --quiet --workspace $(SCHED_EXT) --test docs --test structure

# Writes them anew. Look at the prose around them.
docs-update:
	$(CARGO) test --quiet --workspace $(SCHED_EXT) --test docs -- --update

# The book: docs, and a reference made from what commands print, into target/book. The program is
# the one that docs-check builds.
book:
	CARGO="$(CARGO)" ./tests/setup-book.sh
	$(CARGO) test --quiet --workspace $(SCHED_EXT) --test docs -- --book $(BUILT)/book-src
	@if test -x "$(MDBOOK)"; then "$(MDBOOK)" build $(BUILT)/book-src --dest-dir $(BUILT)/book \
		&& echo "The book: $(BUILT)/book/index.html"; fi

# Instructions and bytes of the hot paths beside what they were when a commit last said so; 3 % more
# or less fails (tests/hot_paths).
hot-paths:
	./tests/setup-valgrind.sh
	@if command -v valgrind >/dev/null; then $(CARGO) run --quiet --release -p evenkeel-hot-paths; \
		else test "$$EVENKEEL_VM" != required || { echo "no valgrind, which EVENKEEL_VM=required requires"; exit 1; }; fi

# Writes them anew. The commit that does says why.
hot-paths-update:
	./tests/setup-valgrind.sh
	$(CARGO) run --quiet --release -p evenkeel-hot-paths -- --update

fmt:
	$(CARGO) fmt --all
	@if command -v clang-format-19 >/dev/null; then clang-format-19 -i $(C_FILES); fi

# Manual pages, into target/man.
man:
	$(EVENKEEL) man target/man
