// Taskflow.
#include "peer.hpp"

#include <vector>

#include <taskflow/taskflow.hpp>
#include <taskflow/algorithm/for_each.hpp>
#include <taskflow/algorithm/pipeline.hpp>

using namespace peer;

namespace {

// Each worker to a core of its own.
struct Pinned : tf::WorkerInterface {
    void scheduler_prologue(tf::Worker& worker) override {
        if (pins()) pin_to(worker.id() % WORKERS);
    }
    void scheduler_epilogue(tf::Worker&, std::exception_ptr) override {}
};

tf::Executor& executor() {
    static tf::Executor it(WORKERS, std::make_shared<Pinned>());
    return it;
}

// On a worker; the main thread sleeps meanwhile. What it creates and does not wait for is waited
// for here.
template <typename F>
void on_worker(F&& f) {
    executor().async(f).wait();
    executor().wait_for_all();
}

void independent() {
    on_worker([] {
        for (int i = 0; i < TASKS; ++i) executor().silent_async([i] { asm volatile("" ::"r"(i)); });
    });
}

void build_chains(tf::Taskflow& graph) {
    std::vector<tf::Task> ends(CHAINS);
    for (int step = 0; step < STEPS; ++step) {
        for (int c = 0; c < CHAINS; ++c) {
            tf::Task task = graph.emplace([c] { asm volatile("" ::"r"(c)); });
            if (step > 0) ends[c].precede(task);
            ends[c] = task;
        }
    }
}

void chains() {
    tf::Taskflow graph;
    build_chains(graph);
    executor().run(graph).wait();
}

tf::Taskflow& built_chains() {
    static tf::Taskflow graph;
    if (graph.empty()) build_chains(graph);
    return graph;
}

void chains_again() { executor().run(built_chains()).wait(); }

tf::Taskflow& built_independent() {
    static tf::Taskflow graph;
    if (graph.empty()) {
        for (int i = 0; i < TASKS; ++i) graph.emplace([i] { asm volatile("" ::"r"(i)); });
    }
    return graph;
}

void independent_again() { executor().run(built_independent()).wait(); }

uint64_t fib_of(int n, tf::Runtime& runtime) {
    if (n < 2) return n;
    uint64_t a, b;
    runtime.silent_async([&a, n](tf::Runtime& inner) { a = fib_of(n - 1, inner); });
    b = fib_of(n - 2, runtime);
    runtime.corun_all();
    return a + b;
}

void fib() {
    tf::Taskflow graph;
    graph.emplace([](tf::Runtime& runtime) { last = fib_of(FIB, runtime); });
    executor().run(graph).wait();
}

template <typename F, typename Partitioner>
void loop(int times, int n, F f, Partitioner partitioner) {
    tf::Taskflow graph;
    graph.for_each_index(0, n, 1, f, partitioner);
    on_worker([&] {
        for (int i = 0; i < times; ++i) executor().corun(graph);
    });
}

void prices_auto() { loop(1, OPTIONS, work_price, tf::DefaultPartitioner()); }
void prices_static() { loop(1, OPTIONS, work_price, tf::StaticPartitioner()); }
void prices_dynamic() { loop(1, OPTIONS, work_price, tf::DynamicPartitioner(CHUNK)); }
void prices_guided() { loop(1, OPTIONS, work_price, tf::GuidedPartitioner()); }
void short_loops() { loop(SHORT_LOOPS, SHORT_LOOP, work_short, tf::DefaultPartitioner()); }
void frames_auto() { loop(BARRIERS, CELLS, work_cell, tf::DefaultPartitioner()); }
void frames_static() { loop(BARRIERS, CELLS, work_cell, tf::StaticPartitioner()); }
void frames_dynamic() { loop(BARRIERS, CELLS, work_cell, tf::DynamicPartitioner(CELL_CHUNK)); }
void frames_guided() { loop(BARRIERS, CELLS, work_cell, tf::GuidedPartitioner()); }

void coarse_tasks() {
    on_worker([] {
        for (int i = 0; i < COARSE; ++i) executor().silent_async([i] { work_coarse(i); });
    });
}

void coarse_loop() { loop(1, COARSE, work_coarse, tf::DynamicPartitioner(1)); }

void pipeline() {
    static uint64_t values[IN_FLIGHT];
    auto source = [](tf::Pipeflow& flow) {
        if (flow.token() == ITEMS) return flow.stop();
        values[flow.line()] = work_item(flow.token());
    };
    auto middle = [](tf::Pipeflow& flow) {
        values[flow.line()] = work_change(values[flow.line()]);
    };
    auto sink = [](tf::Pipeflow& flow) { last = work_collect(last, values[flow.line()]); };
    tf::Pipeline stages(IN_FLIGHT, tf::Pipe(tf::PipeType::SERIAL, std::move(source)),
                        tf::Pipe(tf::PipeType::PARALLEL, std::move(middle)),
                        tf::Pipe(tf::PipeType::SERIAL, std::move(sink)));
    tf::Taskflow graph;
    graph.composed_of(stages);
    executor().run(graph).wait();
}

// Behind a task that waits for all to be created.
int64_t memory_independent() {
    tf::Executor alone(1);
    std::atomic<bool> begun{false}, all_created{false};
    alone.silent_async([&] {
        begun = true;
        while (!all_created) sched_yield();
    });
    while (!begun) sched_yield();
    int64_t bytes = growth([&] {
        for (int i = 0; i < TASKS; ++i) alone.silent_async([i] { asm volatile("" ::"r"(i)); });
    });
    all_created = true;
    alone.wait_for_all();
    return bytes;
}

int64_t memory_chains() {
    tf::Taskflow graph;
    return growth([&] { build_chains(graph); });
}

} // namespace

int main() {
    return serve("Taskflow", tf::version(),
                 {
                     {"independent", independent},
                     {"independent-again", independent_again},
                     {"chains", chains},
                     {"chains-again", chains_again},
                     {"fib", fib},
                     {"prices-serial", serial_prices},
                     {"prices-auto", prices_auto},
                     {"prices-static", prices_static},
                     {"prices-dynamic", prices_dynamic},
                     {"prices-guided", prices_guided},
                     {"short", short_loops},
                     {"frames-auto", frames_auto},
                     {"frames-static", frames_static},
                     {"frames-dynamic", frames_dynamic},
                     {"frames-guided", frames_guided},
                     {"coarse-tasks", coarse_tasks},
                     {"coarse-loop", coarse_loop},
                     {"pipeline", pipeline},
                 },
                 {{"memory-independent", memory_independent}, {"memory-chains", memory_chains}});
}
