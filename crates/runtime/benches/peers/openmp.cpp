// OpenMP: built once for LLVM's runtime (clang) and once for GNU's (gcc). Threads and places come
// from the environment.
#include "peer.hpp"

#include <omp.h>

using namespace peer;

namespace {

// What tasks depend on.
char chain[CHAINS], source, sink, gate;

// One producer, the others take.
template <typename F>
void produce(F&& f) {
#pragma omp parallel
#pragma omp single
    f();
}

void independent() {
    produce([] {
        for (int i = 0; i < TASKS; ++i) {
#pragma omp task firstprivate(i)
            asm volatile("" ::"r"(i));
        }
    });
}

void chains() {
    produce([] {
        for (int step = 0; step < STEPS; ++step) {
            for (int c = 0; c < CHAINS; ++c) {
#pragma omp task depend(inout : chain[c]) firstprivate(c)
                asm volatile("" ::"r"(c));
            }
        }
    });
}

uint64_t fib_of(int n) {
    if (n < 2) return n;
    uint64_t a, b;
#pragma omp task shared(a) firstprivate(n)
    a = fib_of(n - 1);
    b = fib_of(n - 2);
#pragma omp taskwait
    return a + b;
}

void fib() {
    produce([] { last = fib_of(FIB); });
}

void prices_static() {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < OPTIONS; ++i) work_price(i);
}

void prices_dynamic() {
#pragma omp parallel for schedule(dynamic, CHUNK)
    for (int i = 0; i < OPTIONS; ++i) work_price(i);
}

void prices_guided() {
#pragma omp parallel for schedule(guided)
    for (int i = 0; i < OPTIONS; ++i) work_price(i);
}

void prices_auto() {
#pragma omp parallel for schedule(auto)
    for (int i = 0; i < OPTIONS; ++i) work_price(i);
}

// In one parallel region, as who knows OpenMP writes it: the loops' own barriers are enough.
void short_loops() {
#pragma omp parallel
    for (int loop = 0; loop < SHORT_LOOPS; ++loop) {
#pragma omp for
        for (int i = 0; i < SHORT_LOOP; ++i) work_short(i);
    }
}

void frames_static() {
#pragma omp parallel
    for (int barrier = 0; barrier < BARRIERS; ++barrier) {
#pragma omp for schedule(static)
        for (int i = 0; i < CELLS; ++i) work_cell(i);
    }
}

void frames_dynamic() {
#pragma omp parallel
    for (int barrier = 0; barrier < BARRIERS; ++barrier) {
#pragma omp for schedule(dynamic, CELL_CHUNK)
        for (int i = 0; i < CELLS; ++i) work_cell(i);
    }
}

void frames_guided() {
#pragma omp parallel
    for (int barrier = 0; barrier < BARRIERS; ++barrier) {
#pragma omp for schedule(guided)
        for (int i = 0; i < CELLS; ++i) work_cell(i);
    }
}

void coarse_tasks() {
    produce([] {
        for (int i = 0; i < COARSE; ++i) {
#pragma omp task firstprivate(i)
            work_coarse(i);
        }
    });
}

void coarse_loop() {
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < COARSE; ++i) work_coarse(i);
}

// By dependences: OpenMP has no pipelines.
void pipeline() {
    static uint64_t values[ITEMS];
    produce([] {
        for (int i = 0; i < ITEMS; ++i) {
#pragma omp task depend(inout : source) depend(out : values[i]) firstprivate(i)
            values[i] = work_item(i);
#pragma omp task depend(inout : values[i]) firstprivate(i)
            values[i] = work_change(values[i]);
#pragma omp task depend(inout : sink) depend(in : values[i]) firstprivate(i)
            last = work_collect(last, values[i]);
        }
    });
}

// Behind a task that waits for all to be created. (Independent tasks are not measured: both
// runtimes run them in place once a few hundred wait.)
int64_t memory_chains() {
    static std::atomic<bool> begun, all_created;
    int64_t bytes = 0;
    produce([&] {
#pragma omp task depend(out : gate)
        {
            begun = true;
            while (!all_created) sched_yield();
        }
        while (!begun) sched_yield();
        bytes = growth([] {
            for (int c = 0; c < CHAINS; ++c) {
#pragma omp task depend(inout : chain[c]) depend(in : gate) firstprivate(c)
                asm volatile("" ::"r"(c));
            }
            for (int i = CHAINS; i < TASKS; ++i) {
#pragma omp task depend(inout : chain[i % CHAINS]) firstprivate(i)
                asm volatile("" ::"r"(i));
            }
        });
        all_created = true;
    });
    return bytes;
}

} // namespace

int main() {
#ifdef __clang__
    std::string name = "libomp", version = __clang_version__;
#else
    std::string name = "libgomp", version = __VERSION__;
#endif
    return serve(name.c_str(), version.substr(0, version.find(' ')),
                 {
                     {"independent", independent},
                     {"chains", chains},
                     {"fib", fib},
                     {"prices-serial", serial_prices},
                     {"prices-auto", prices_auto},
                     {"prices-static", prices_static},
                     {"prices-dynamic", prices_dynamic},
                     {"prices-guided", prices_guided},
                     {"short", short_loops},
                     {"frames-static", frames_static},
                     {"frames-dynamic", frames_dynamic},
                     {"frames-guided", frames_guided},
                     {"coarse-tasks", coarse_tasks},
                     {"coarse-loop", coarse_loop},
                     {"pipeline", pipeline},
                 },
                 {{"memory-chains", memory_chains}});
}
