// oneTBB.
#include "peer.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/task_scheduler_observer.h>
#include <tbb/version.h>

using namespace peer;

namespace {

// Each thread to a core of its own.
struct Pinned : tbb::task_scheduler_observer {
    Pinned() { observe(pins()); }
    void on_scheduler_entry(bool) override {
        pin_to(tbb::this_task_arena::current_thread_index() % WORKERS);
    }
};

template <typename F, typename Partitioner>
void loop(int n, int grain, F f, const Partitioner& partitioner) {
    auto block = [f](const tbb::blocked_range<int>& range) {
        for (int i = range.begin(); i < range.end(); ++i) f(i);
    };
    tbb::parallel_for(tbb::blocked_range<int>(0, n, grain), block, partitioner);
}

void independent() {
    tbb::task_group group;
    for (int i = 0; i < TASKS; ++i) group.run([i] { asm volatile("" ::"r"(i)); });
    group.wait();
}

uint64_t fib_of(int n) {
    if (n < 2) return n;
    uint64_t a, b;
    tbb::parallel_invoke([&a, n] { a = fib_of(n - 1); }, [&b, n] { b = fib_of(n - 2); });
    return a + b;
}

void fib() { last = fib_of(FIB); }

void prices_auto() { loop(OPTIONS, 1, work_price, tbb::auto_partitioner()); }
void prices_static() { loop(OPTIONS, 1, work_price, tbb::static_partitioner()); }
void prices_dynamic() { loop(OPTIONS, CHUNK, work_price, tbb::simple_partitioner()); }

void short_loops() {
    for (int it = 0; it < SHORT_LOOPS; ++it)
        loop(SHORT_LOOP, 1, work_short, tbb::auto_partitioner());
}

void frames_auto() {
    for (int barrier = 0; barrier < BARRIERS; ++barrier)
        loop(CELLS, 1, work_cell, tbb::auto_partitioner());
}

void frames_static() {
    for (int barrier = 0; barrier < BARRIERS; ++barrier)
        loop(CELLS, 1, work_cell, tbb::static_partitioner());
}

void frames_dynamic() {
    for (int barrier = 0; barrier < BARRIERS; ++barrier)
        loop(CELLS, CELL_CHUNK, work_cell, tbb::simple_partitioner());
}

void coarse_tasks() {
    tbb::task_group group;
    for (int i = 0; i < COARSE; ++i) group.run([i] { work_coarse(i); });
    group.wait();
}

void coarse_loop() { loop(COARSE, 1, work_coarse, tbb::simple_partitioner()); }

void pipeline() {
    int next = 0;
    auto source = [&next](tbb::flow_control& flow) -> uint64_t {
        if (next == ITEMS) {
            flow.stop();
            return 0;
        }
        return work_item(next++);
    };
    auto middle = [](uint64_t x) { return work_change(x); };
    auto sink = [](uint64_t x) { last = work_collect(last, x); };
    tbb::parallel_pipeline(
        IN_FLIGHT, tbb::make_filter<void, uint64_t>(tbb::filter_mode::serial_in_order, source) &
                       tbb::make_filter<uint64_t, uint64_t>(tbb::filter_mode::parallel, middle) &
                       tbb::make_filter<uint64_t, void>(tbb::filter_mode::serial_in_order, sink));
}

// In an arena that nobody else comes to, so that all wait.
int64_t memory_independent() {
    tbb::task_arena alone(1, 1);
    return alone.execute([] {
        tbb::task_group group;
        int64_t bytes = growth([&] {
            for (int i = 0; i < TASKS; ++i) group.run([i] { asm volatile("" ::"r"(i)); });
        });
        group.wait();
        return bytes;
    });
}

} // namespace

int main() {
    tbb::global_control control(tbb::global_control::max_allowed_parallelism, WORKERS);
    Pinned pinned;
    return serve("oneTBB", TBB_VERSION_STRING,
                 {
                     {"independent", independent},
                     {"fib", fib},
                     {"prices-serial", serial_prices},
                     {"prices-auto", prices_auto},
                     {"prices-static", prices_static},
                     {"prices-dynamic", prices_dynamic},
                     {"short", short_loops},
                     {"frames-auto", frames_auto},
                     {"frames-static", frames_static},
                     {"frames-dynamic", frames_dynamic},
                     {"coarse-tasks", coarse_tasks},
                     {"coarse-loop", coarse_loop},
                     {"pipeline", pipeline},
                 },
                 {{"memory-independent", memory_independent}});
}
