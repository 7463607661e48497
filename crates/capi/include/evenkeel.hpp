// Evenkeel for C++17: parallel programs that use all cores of a hybrid processor at once, and
// finish together.
//
//     // One worker per core, pinned; the kinds of core are detected.
//     evenkeel::Pool pool;
//     // A loop without a chunk size to tune.
//     pool.for_each(0, n, [&](std::size_t i) { … });
//     // Tasks with the data that they read and write.
//     pool.scope([&](evenkeel::Scope& s) {
//         s.task().reads(a).writes(b).label("step").run([=] { … });
//     });
//
// Exceptions. The call that a function was given to throws the first exception of its functions,
// once. The parts of the loop, scope, graph run or pipeline that have not begun by then are left
// out. If evenkeel itself fails, it throws an evenkeel::Error.
//
// Threads. Functions run on the pool's workers, many at a time. All threads may use a Pool, Handle
// or Regions at once; all else belongs to one thread at a time unless it says otherwise.
//
// Cost. A loop calls through a pointer once for each part that is handed out, and is inlined within
// the part. A task keeps its closure: in place, where that is trivially copyable and has at most
// 152 bytes; else on the heap.
#ifndef EVENKEEL_HPP
#define EVENKEEL_HPP

#include "evenkeel/calls.hpp"
#include "evenkeel/loops.hpp"
#include "evenkeel/pipelines.hpp"
#include "evenkeel/tasks.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace evenkeel {

/// Options of a pool. An option that is not set comes from the environment (EVENKEEL_MACHINE,
/// EVENKEEL_POLICY, EVENKEEL_SCHEDULE, EVENKEEL_LEND, EVENKEEL_TRACE, EVENKEEL_SUMMARY), else from
/// the machine.
class Options {
public:
    /// Sets the number of workers, 1 to 4096. They are on the fastest cores; workers beyond the
    /// number of cores share cores again from the fastest.
    Options& workers(std::size_t count) {
        evenkeel_options_workers(options_.get(), count);
        return *this;
    }
    /// Sets how tasks find their workers: "fifo", "steal", "steal-kind" (the default), "cats".
    Options& policy(const std::string& name) {
        detail::check(evenkeel_options_policy(options_.get(), name.c_str()));
        return *this;
    }
    /// Sets the schedule of loops without one of their own: "static", "dynamic", "guided",
    /// "aid-static", "aid-dynamic", "aid-affinity", each optionally with ",CHUNK".
    Options& schedule(const std::string& schedule) {
        detail::check(evenkeel_options_schedule(options_.get(), schedule.c_str()));
        return *this;
    }
    /// Sets the machine whose kinds of core are used: a preset's name or a file.
    Options& machine(const std::string& name_or_path) {
        detail::check(evenkeel_options_machine(options_.get(), name_or_path.c_str()));
        return *this;
    }
    /// Sets if each worker is pinned to its core (see lend()). The default is true.
    Options& pin(bool pins) {
        evenkeel_options_pin(options_.get(), pins);
        return *this;
    }
    /// Sets if cores are lent. A worker that loses its core to another program while it has work in
    /// hand then gets the core of a worker that has nothing to do, until that work is done. So does
    /// a worker on a slower core, if a worker on a faster core has had nothing to do for a
    /// millisecond. The default is true.
    Options& lend(bool lends) {
        evenkeel_options_lend(options_.get(), lends);
        return *this;
    }
    /// Sets the file to which the pool's destructor writes a trace, for ui.perfetto.dev: what each
    /// worker did when, and what had to wait for what. "%p" in its name stands for the process's
    /// number; "": no trace. A file that cannot be written gives a message on stderr, and no error.
    Options& trace(const std::string& file) {
        detail::check(evenkeel_options_trace(options_.get(), file.c_str()));
        return *this;
    }
    /// Sets if the pool's destructor writes Pool::summary() to stderr. Costs of tasks with labels
    /// are then learnt on cores of one kind, too.
    Options& summary(bool wanted) {
        evenkeel_options_summary(options_.get(), wanted);
        return *this;
    }

private:
    friend class Pool;
    detail::Owned<evenkeel_options, evenkeel_options_drop> options_{
        detail::made(evenkeel_options_new())};
};

/// A kind of core.
struct Kind {
    /// "big", "P".
    std::string name;
    /// Its speed relative to the fastest of the machine, which has 1024.
    unsigned capacity;
};

/// Workers that run tasks and loops: one per core that the process may use, each kept on its core.
/// Its destructor joins its threads.
class Pool {
public:
    /// One worker per core, pinned, core kinds detected.
    Pool() : Pool(nullptr) {}
    explicit Pool(const Options& options) : Pool(options.options_.get()) {}

    std::size_t workers() const { return evenkeel_pool_workers(pool_.get()); }

    /// The kinds of core that workers are on, fastest first.
    std::vector<Kind> kinds() const {
        std::vector<Kind> kinds;
        for (std::size_t kind = 0; kind < evenkeel_pool_kinds(pool_.get()); ++kind) {
            kinds.push_back({evenkeel_pool_kind_name(pool_.get(), kind),
                             evenkeel_pool_kind_capacity(pool_.get(), kind)});
        }
        return kinds;
    }

    /// What the pool has done so far, as a table of several lines: what each worker and each kind
    /// of core ran, stole and left to faster ones, how long they were busy, looked for work and
    /// slept, and what tasks with labels have cost.
    std::string summary() const {
        // Its figures may be longer by the time of the second call.
        std::string text;
        std::size_t length = 0;
        do {
            text.resize(length + 64);
            length = evenkeel_pool_summary(pool_.get(), text.data(), text.size());
        } while (length >= text.size());
        text.resize(length);
        return text;
    }

    /// The pool, for the C interface. This object keeps it.
    const evenkeel_pool* c() const { return pool_.get(); }

    /// Calls `f` on a worker, and returns what it returns. Loops, scopes and joins inside begin
    /// without a change of threads. So a program with many short ones does well to run in one such
    /// call.
    template <class F>
    auto run(F&& f) const -> std::invoke_result_t<F&> {
        detail::Result<std::invoke_result_t<F&>> result;
        detail::Failure failure;
        auto call = detail::guarded(failure, [&] { result.of(f); });
        failure.rethrow(evenkeel_run(pool_.get(), call.run, &call));
        return result.take();
    }

    /// As `run`, but work begun inside is kept apart: a worker that waits inside for a scope, a
    /// loop or a join meanwhile does only work that was begun there, too. Use it to wait with a
    /// lock in hand that other tasks take.
    template <class F>
    auto isolate(F&& f) const -> std::invoke_result_t<F&> {
        detail::Result<std::invoke_result_t<F&>> result;
        detail::Failure failure;
        auto call = detail::guarded(failure, [&] { result.of(f); });
        failure.rethrow(evenkeel_isolate(pool_.get(), call.run, &call));
        return result.take();
    }

    /// Calls two functions, perhaps at once, and returns a pair of their results; nothing if they
    /// return nothing.
    template <class A, class B>
    auto join(A&& a, B&& b) const {
        using First = std::invoke_result_t<A&>;
        using Second = std::invoke_result_t<B&>;
        static_assert(std::is_void_v<First> == std::is_void_v<Second>,
                      "both return something, or neither");
        detail::Result<First> first;
        detail::Result<Second> second;
        detail::Failure failure;
        auto call_first = detail::guarded(failure, [&] { first.of(a); });
        auto call_second = detail::guarded(failure, [&] { second.of(b); });
        failure.rethrow(
            evenkeel_join(pool_.get(), call_first.run, &call_first, call_second.run, &call_second));
        if constexpr (!std::is_void_v<First>)
            return std::pair<First, Second>(first.take(), second.take());
    }

    /// Calls `f` with each number from `begin` to before `end`, or each element from one
    /// random-access iterator to before another, on all cores at once, and returns when all calls
    /// have.
    template <class B, class E, class F>
    void for_each(B begin, E end, F&& f) const {
        over(begin, end).for_each(f);
    }

    /// Calls `f(begin, end)` with parts of the range, each as long as is handed out at a time.
    template <class B, class E, class F>
    void for_each_chunk(B begin, E end, F&& f) const {
        over(begin, end).for_each_chunk(f);
    }

    /// As for_each(), of an `f` that returns a std::optional: see Over::try_for_each.
    template <class B, class E, class F>
    auto try_for_each(B begin, E end, F&& f) const {
        return over(begin, end).try_for_each(f);
    }

    /// See Over::map_reduce.
    template <class B, class E, class T, class Map, class Reduce>
    T map_reduce(B begin, E end, T identity, Map&& map, Reduce&& reduce) const {
        return over(begin, end)
            .map_reduce(std::move(identity), std::forward<Map>(map), std::forward<Reduce>(reduce));
    }

    /// A loop with options to set before it begins.
    template <class B, class E>
    auto over(B begin, E end) const {
        using I = std::common_type_t<B, E>;
        return Over<I>(pool_.get(), static_cast<I>(begin), static_cast<I>(end));
    }

    /// Calls `f(Scope&)` on a worker; returns its result when all tasks created in the scope have
    /// ended. If one of them or `f` throws, tasks that have not begun are left out.
    template <class F>
    auto scope(F&& f) const -> std::invoke_result_t<F&, Scope&> {
        struct Call {
            F& f;
            detail::Failure failure;
            Scope scope;
            detail::Result<std::invoke_result_t<F&, Scope&>> result;
            explicit Call(F& f) : f(f), scope(failure) {}
        } call(f);
        const auto body = [](const evenkeel_scope* scope, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            call.scope.scope_ = scope;
            return call.failure.guard(
                [&] { call.result.of([&]() -> decltype(auto) { return call.f(call.scope); }); });
        };
        call.failure.rethrow(evenkeel_scope_run(pool_.get(), body, &call));
        return call.result.take();
    }

    /// Calls `f(Recorder&)` on this thread, and returns a graph of the tasks that it created. The
    /// graph can be run again and again; the pool must exist whenever it is.
    template <class F>
    Graph record(F&& f) const {
        return recorded(f, [this](evenkeel_recorder* recorder) {
            return evenkeel_graph_new(pool_.get(), recorder);
        });
    }
    /// As record(), for a graph that this policy runs, whatever the pool's is: "heft", "cpop",
    /// "peft", "dls" and others plan the whole graph by the costs of its tasks, see
    /// evenkeel_graph_new_with().
    template <class F>
    Graph record_with(const char* policy, F&& f) const {
        return recorded(f, [this, policy](evenkeel_recorder* recorder) {
            return evenkeel_graph_new_with(pool_.get(), recorder, policy);
        });
    }

    /// A pipeline. Items from `source`, which returns a std::optional, empty when there are no
    /// more, go through the stages that are added to it. One worker at a time calls the source.
    template <class Source>
    auto pipeline(Source source) const {
        using Item = typename std::invoke_result_t<Source&>::value_type;
        return Pipeline<Source, std::tuple<Item>, std::tuple<>>(pool_.get(), std::move(source), {},
                                                                std::nullopt);
    }

private:
    explicit Pool(const evenkeel_options* options) {
        if (evenkeel_abi() != EVENKEEL_ABI)
            throw Error("the evenkeel library is not the one that this header is of");
        pool_.reset(detail::made(evenkeel_pool_new(options)));
    }
    template <class F, class Make>
    static Graph recorded(F& f, Make make) {
        auto failure = std::make_unique<detail::Failure>();
        Recorder recorder(*failure);
        f(recorder);
        auto* graph = make(recorder.recorder_.get());
        return Graph(std::move(failure), graph);
    }
    detail::Owned<evenkeel_pool, evenkeel_pool_drop> pool_;
};

}  // namespace evenkeel

#endif  // EVENKEEL_HPP
