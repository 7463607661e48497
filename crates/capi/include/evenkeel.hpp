// Evenkeel for C++17: parallel programs that use all cores of a hybrid processor at once, and finish together.
//
//     evenkeel::Pool pool;                                               // one worker per core, pinned, core kinds detected
//     pool.for_each(0, n, [&](std::size_t i) { … });                     // a loop: no chunk size to tune
//     pool.scope([&](evenkeel::Scope& s) {                               // tasks by what they read and write
//         s.task().reads(a).writes(b).label("step").run([=] { … });
//     });
//
// Exceptions. What your functions throw comes out of the call that they were given to: the first of them, once. What has not begun of the
// loop, scope, graph run or pipeline by then is left out. What evenkeel itself cannot do is an evenkeel::Error.
//
// Threads. Functions run on the pool's workers, many at a time. A Pool, Handle or Regions may be used by all threads at once; all else
// belongs to one thread at a time unless it says otherwise.
//
// Cost. A loop calls through a pointer once for each part of it that is handed out, and is inlined within. A task keeps its closure: in
// place, where that is trivially copyable and has at most 152 bytes; else on the heap.
#ifndef EVENKEEL_HPP
#define EVENKEEL_HPP

#include "evenkeel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace evenkeel {

/// What evenkeel itself cannot do, and why.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace detail {

[[noreturn]] inline void fail() { throw Error(evenkeel_error()); }

inline void check(int code) {
    if (code != 0) fail();
}

template <auto drop>
struct Drop {
    template <class T>
    void operator()(T* it) const noexcept {
        drop(it);
    }
};

/// What the C interface has made, and takes back.
template <class T, auto drop>
using Owned = std::unique_ptr<T, Drop<drop>>;

template <class T>
T* made(T* it) {
    if (it == nullptr) fail();
    return it;
}

/// The first exception of functions that run at the same time.
class Failure {
public:
    /// Calls a function for the C interface: 0, or 1 where it threw.
    template <class F>
    int guard(F&& f) noexcept {
        try {
            f();
            return 0;
        } catch (...) {
            if (!is_taken_.exchange(true)) first_ = std::current_exception();
            return 1;
        }
    }

    /// All of them have ended, with this code.
    void rethrow(int code) {
        if (code == EVENKEEL_ERROR) fail();
        if (code == 0) return;
        is_taken_ = false;
        std::rethrow_exception(std::exchange(first_, nullptr));
    }

private:
    std::atomic<bool> is_taken_{false};
    std::exception_ptr first_;
};

/// A closure, and where its exceptions go.
template <class F>
struct Guarded {
    Failure* failure;
    F f;

    static int run(void* data) noexcept {
        auto& self = *static_cast<Guarded*>(data);
        return self.failure->guard(self.f);
    }

    static void release(void* data) noexcept { delete static_cast<Guarded*>(data); }
};

template <class F>
Guarded<std::decay_t<F>> guarded(Failure& failure, F&& f) {
    return {&failure, std::forward<F>(f)};
}

/// Gives a closure away, by `copy` where copying its bytes is enough, else by `own`.
template <class F, class Copy, class Own>
void give(Failure& failure, F&& f, Copy copy, Own own) {
    using Closure = Guarded<std::decay_t<F>>;
    if constexpr (std::is_trivially_copyable_v<Closure> && sizeof(Closure) <= 160 && alignof(Closure) <= 16) {
        const Closure closure{&failure, std::forward<F>(f)};
        check(copy(&Closure::run, &closure, sizeof closure));
    } else {
        check(own(&Closure::run, new Closure{&failure, std::forward<F>(f)}, &Closure::release));
    }
}

/// What a function returns, which runs elsewhere.
template <class R>
class Result {
public:
    template <class F>
    void of(F&& f) {
        value_.emplace(f());
    }
    R take() { return std::move(*value_); }

private:
    std::optional<R> value_;
};

template <class R>
class Result<R&> {
public:
    template <class F>
    void of(F&& f) {
        value_ = &f();
    }
    R& take() { return *value_; }

private:
    R* value_ = nullptr;
};

template <>
class Result<void> {
public:
    template <class F>
    void of(F&& f) {
        f();
    }
    void take() {}
};

}  // namespace detail

/// What a pool is to be like. What is not said comes from the environment (EVENKEEL_MACHINE, EVENKEEL_POLICY, EVENKEEL_SCHEDULE), else from
/// the machine.
class Options {
public:
    /// So many workers, 1 to 4096: on the fastest cores, and round again where they are more than cores.
    Options& workers(std::size_t count) {
        evenkeel_options_workers(options_.get(), count);
        return *this;
    }
    /// How tasks find their workers: "steal", "steal-kind".
    Options& policy(const std::string& name) {
        detail::check(evenkeel_options_policy(options_.get(), name.c_str()));
        return *this;
    }
    /// How loops are shared out that do not say: "static", "dynamic", "guided", "aid-static", "aid-dynamic", each with ",CHUNK" where
    /// wanted.
    Options& schedule(const std::string& schedule) {
        detail::check(evenkeel_options_schedule(options_.get(), schedule.c_str()));
        return *this;
    }
    /// The machine whose kinds of core count: a preset's name or a file.
    Options& machine(const std::string& name_or_path) {
        detail::check(evenkeel_options_machine(options_.get(), name_or_path.c_str()));
        return *this;
    }
    /// Whether each worker keeps to its core. It does unless told otherwise.
    Options& pin(bool pins) {
        evenkeel_options_pin(options_.get(), pins);
        return *this;
    }

private:
    friend class Pool;
    detail::Owned<evenkeel_options, evenkeel_options_drop> options_{detail::made(evenkeel_options_new())};
};

/// A kind of core.
struct Kind {
    /// "big", "P".
    std::string name;
    /// Its speed relative to the fastest of the machine, which has 1024.
    unsigned capacity;
};

/// Something that tasks read and write: what it stands for is your affair. May be destroyed as soon as all tasks that name it have been
/// created.
class Handle {
public:
    Handle() : handle_(detail::made(evenkeel_handle_new())) {}

private:
    friend class Task;
    detail::Owned<evenkeel_handle, evenkeel_handle_drop> handle_;
};

/// Some elements of an array: see Regions.
class Part {
private:
    friend class Regions;
    friend class Task;
    Part(const evenkeel_regions* regions, std::size_t begin, std::size_t end)
        : regions_(regions), begin_(begin), end_(end) {}
    const evenkeel_regions* regions_;
    std::size_t begin_, end_;
};

/// Handles for the parts of an array, one per block of so many elements: parts that share a block conflict.
class Regions {
public:
    /// For an array of `len` elements, told apart by blocks of `block` (0 is taken as 1).
    Regions(std::size_t len, std::size_t block) : regions_(detail::made(evenkeel_regions_new(len, block))) {}

    /// The elements from `begin` to before `end`.
    Part part(std::size_t begin, std::size_t end) const { return {regions_.get(), begin, end}; }

private:
    detail::Owned<evenkeel_regions, evenkeel_regions_drop> regions_;
};

/// A task that has not been created: what it reads and writes is being said. It runs after those of its scope or graph created before it
/// that conflict with it: that write what it reads or writes, or read what it writes.
class Task {
public:
    /// It reads these (handles, parts): it waits for the tasks that wrote them last.
    template <class... Resources>
    Task& reads(const Resources&... resources) {
        (say(resources, evenkeel_task_reads, evenkeel_task_reads_part), ...);
        return *this;
    }
    /// It writes these: it waits for the tasks that wrote them last, and all that have read them since.
    template <class... Resources>
    Task& writes(const Resources&... resources) {
        (say(resources, evenkeel_task_writes, evenkeel_task_writes_part), ...);
        return *this;
    }
    /// It reads and writes these: it waits as one that writes them.
    template <class... Resources>
    Task& updates(const Resources&... resources) {
        (say(resources, evenkeel_task_updates, evenkeel_task_updates_part), ...);
        return *this;
    }
    /// What it is called: on machines with several kinds of core its cost is learnt with that of others of the same name. A program keeps
    /// the names that it uses, so let them be few.
    Task& label(const char* name) {
        evenkeel_task_label(task_.get(), name);
        return *this;
    }
    Task& label(const std::string& name) { return label(name.c_str()); }

    /// Creates it: `f` is called when nothing is left that it waits for, perhaps at once, on any worker; that of a graph each time that
    /// this is run.
    template <class F>
    void run(F&& f) {
        if (!task_) throw Error("the task has been created already");
        auto* task = task_.release();
        detail::give(
            *failure_, std::forward<F>(f),
            [=](evenkeel_function run, const void* data, std::size_t size) {
                return evenkeel_task_run_copy(task, run, data, size);
            },
            [=](evenkeel_function run, void* data, evenkeel_release release) {
                return evenkeel_task_run(task, run, data, release);
            });
    }

private:
    friend class Scope;
    friend class Recorder;
    Task(evenkeel_task* task, detail::Failure& failure) : task_(detail::made(task)), failure_(&failure) {}

    template <class Whole, class Some>
    void say(const Handle& handle, Whole whole, Some) {
        whole(task_.get(), handle.handle_.get());
    }
    template <class Whole, class Some>
    void say(const Part& part, Whole, Some some) {
        some(task_.get(), part.regions_, part.begin_, part.end_);
    }

    detail::Owned<evenkeel_task, evenkeel_task_drop> task_;
    detail::Failure* failure_;
};

/// Where tasks are created: see Pool::scope. Tasks may use it on all threads, but for task().
class Scope {
public:
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    /// Creates an independent task: `f` is called on any worker, perhaps at once.
    template <class F>
    void spawn(F&& f) {
        const auto* scope = scope_;
        detail::give(
            failure_, std::forward<F>(f),
            [=](evenkeel_function run, const void* data, std::size_t size) {
                return evenkeel_scope_spawn_copy(scope, run, data, size);
            },
            [=](evenkeel_function run, void* data, evenkeel_release release) {
                return evenkeel_scope_spawn(scope, run, data, release);
            });
    }
    /// A task with dependences. For the thread that opened the scope alone: that on which its function runs.
    Task task() { return {evenkeel_scope_task(scope_), failure_}; }
    /// Leaves out all tasks that have not begun, and those that are still to be created. Nothing is thrown.
    void cancel() { evenkeel_scope_cancel(scope_); }
    /// Whether the scope has been cancelled, or one of its tasks has thrown: a long task may look, and return early.
    bool is_cancelled() const { return evenkeel_scope_is_cancelled(scope_); }

private:
    friend class Pool;
    explicit Scope(detail::Failure& failure) : failure_(failure) {}
    const evenkeel_scope* scope_ = nullptr;
    detail::Failure& failure_;
};

/// Where the tasks of a graph are recorded: see Pool::record.
class Recorder {
public:
    /// A task. Handles and regions that it names must be there until Pool::record returns.
    Task task() { return {evenkeel_recorder_task(recorder_.get()), failure_}; }

private:
    friend class Pool;
    explicit Recorder(detail::Failure& failure) : failure_(failure) {}
    detail::Owned<evenkeel_recorder, evenkeel_recorder_drop> recorder_{detail::made(evenkeel_recorder_new())};
    detail::Failure& failure_;
};

/// A recorded graph: see Pool::record. Its pool must be there whenever it is run.
class Graph {
public:
    /// Runs every task once, and returns when all have ended. Where one throws, those that have not begun are left out. The graph can be
    /// run again.
    void run() { failure_->rethrow(evenkeel_graph_run(graph_.get())); }
    /// How many tasks it has.
    std::size_t size() const { return evenkeel_graph_len(graph_.get()); }

private:
    friend class Pool;
    Graph(std::unique_ptr<detail::Failure> failure, evenkeel_graph* graph)
        : failure_(std::move(failure)), graph_(detail::made(graph)) {}
    std::unique_ptr<detail::Failure> failure_;
    detail::Owned<evenkeel_graph, evenkeel_graph_drop> graph_;
};

/// A loop over whole numbers or the elements of random-access iterators, of which more can be said before it begins: see Pool::over.
template <class I>
class Over {
public:
    /// How it is shared out, in place of what the pool does: see Options::schedule.
    Over& schedule(std::string schedule) {
        schedule_ = std::move(schedule);
        return *this;
    }

    /// Calls `f` with each number, or each element, on all cores at once, and returns when all calls have.
    template <class F>
    void for_each(F&& f) const {
        for_each_chunk([&f](I begin, I end) { each(begin, end, f); });
    }

    /// Calls `f(begin, end)` with parts of the range, each as long as is handed out at a time.
    template <class F>
    void for_each_chunk(F&& f) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            F& f;
        } call{{}, *this, f};
        const auto chunk = [](std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            return call.failure.guard([&] { call.f(call.over.at(begin), call.over.at(end)); });
        };
        call.failure.rethrow(evenkeel_for(pool_, 0, count(), schedule(), chunk, &call));
    }

    /// Each worker begins with `identity` (which changes nothing where it is added) and adds what `map(value, i)` makes of it and its
    /// numbers or elements; `reduce(value, value)` brings their values together, in which order is not said.
    template <class T, class Map, class Reduce>
    T map_reduce(T identity, Map map, Reduce reduce) const {
        if constexpr (std::is_trivially_copyable_v<T> && alignof(T) <= 64) {
            return reduce_in_place(std::move(identity), map, reduce);
        } else {
            return reduce_on_heap(std::move(identity), map, reduce);
        }
    }

private:
    friend class Pool;
    Over(const evenkeel_pool* pool, I begin, I end) : pool_(pool), begin_(begin), end_(end) {}

    std::size_t count() const {
        if (!(begin_ < end_)) return 0;
        if constexpr (std::is_integral_v<I>) {
            return static_cast<std::size_t>(end_) - static_cast<std::size_t>(begin_);
        } else {
            return static_cast<std::size_t>(end_ - begin_);
        }
    }
    const char* schedule() const { return schedule_ ? schedule_->c_str() : nullptr; }

    I at(std::size_t offset) const {
        if constexpr (std::is_integral_v<I>) {
            return static_cast<I>(static_cast<std::size_t>(begin_) + offset);
        } else {
            return begin_ + static_cast<typename std::iterator_traits<I>::difference_type>(offset);
        }
    }

    template <class F>
    static void each(I begin, I end, F&& f) {
        for (; begin < end; ++begin) {
            if constexpr (std::is_integral_v<I>) {
                f(begin);
            } else {
                f(*begin);
            }
        }
    }

    template <class T, class Map>
    T fold(T value, std::size_t begin, std::size_t end, Map& map) const {
        each(at(begin), at(end), [&](auto&& it) { value = map(std::move(value), std::forward<decltype(it)>(it)); });
        return value;
    }

    template <class T, class Map, class Reduce>
    T reduce_in_place(T value, Map& map, Reduce& reduce) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            Map& map;
            Reduce& reduce;
        } call{{}, *this, map, reduce};
        const auto fold = [](void* value, std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T*>(value);
            return call.failure.guard([&] { own = call.over.fold(own, begin, end, call.map); });
        };
        const auto combine = [](void* into, void* from, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T*>(into);
            return call.failure.guard([&] { own = call.reduce(own, *static_cast<T*>(from)); });
        };
        call.failure.rethrow(
            evenkeel_reduce(pool_, 0, count(), schedule(), &value, sizeof value, fold, combine, &call));
        return value;
    }

    /// Workers have pointers, to values that the caller owns; to none before the first part.
    template <class T, class Map, class Reduce>
    T reduce_on_heap(T identity, Map& map, Reduce& reduce) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            Map& map;
            Reduce& reduce;
            const T& identity;
            std::mutex mutex;
            std::list<T> values;
        } call{{}, *this, map, reduce, identity, {}, {}};
        const auto fold = [](void* value, std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T**>(value);
            return call.failure.guard([&] {
                if (own == nullptr) {
                    const std::lock_guard<std::mutex> lock(call.mutex);
                    own = &call.values.emplace_back(call.identity);
                }
                *own = call.over.fold(std::move(*own), begin, end, call.map);
            });
        };
        const auto combine = [](void* into, void* from, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto*& own = *static_cast<T**>(into);
            auto* other = *static_cast<T**>(from);
            return call.failure.guard([&] {
                if (own == nullptr || other == nullptr) {
                    own = own == nullptr ? other : own;
                } else {
                    *own = call.reduce(std::move(*own), std::move(*other));
                }
            });
        };
        T* value = nullptr;
        call.failure.rethrow(
            evenkeel_reduce(pool_, 0, count(), schedule(), &value, sizeof value, fold, combine, &call));
        return value == nullptr ? std::move(identity) : std::move(*value);
    }

    const evenkeel_pool* pool_;
    I begin_, end_;
    std::optional<std::string> schedule_;
};

namespace detail {

/// What comes out of a stage that returns nothing.
struct Nothing {};

template <class R>
using Out = std::conditional_t<std::is_void_v<R>, Nothing, std::decay_t<R>>;

/// One item of a pipeline, which is of one of these types after the other.
template <class... Types>
class Slot {
public:
    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { clear(); }

    template <class T>
    T& get() {
        return *std::launder(reinterpret_cast<T*>(bytes_));
    }
    template <class T>
    void put(T&& value) {
        clear();
        ::new (static_cast<void*>(bytes_)) T(std::move(value));
        destroy_ = [](void* bytes) noexcept { std::launder(static_cast<T*>(bytes))->~T(); };
    }

    static void release(void* slot) noexcept { delete static_cast<Slot*>(slot); }

private:
    void clear() noexcept {
        if (auto* destroy = std::exchange(destroy_, nullptr)) destroy(bytes_);
    }
    alignas(Types...) unsigned char bytes_[std::max({sizeof(Types)...})];
    void (*destroy_)(void*) noexcept = nullptr;
};

template <class F>
struct SerialStage {
    static constexpr auto add = evenkeel_pipeline_serial;
    F f;
};

template <class F>
struct ParallelStage {
    static constexpr auto add = evenkeel_pipeline_parallel;
    F f;
};

}  // namespace detail

/// Items from a source go through stages: see Pool::pipeline. `Types` are those of the items, from the source on.
template <class Source, class Types, class Stages>
class Pipeline;

template <class Source, class... Types, class... Stages>
class Pipeline<Source, std::tuple<Types...>, std::tuple<Stages...>> {
public:
    /// A stage that takes one item at a time, in the order in which they came from the source.
    template <class F>
    auto serial(F f) {
        return with(detail::SerialStage<F>{std::move(f)});
    }
    /// A stage that takes any number of items at a time, in any order.
    template <class F>
    auto parallel(F f) {
        return with(detail::ParallelStage<F>{std::move(f)});
    }
    /// How many items may be under way at a time (0 is taken as 1). Unless it is said, four by worker.
    Pipeline& in_flight(std::size_t items) {
        in_flight_ = items;
        return *this;
    }
    /// Runs until the source returns nothing and all items have left the last stage. Where the source or a stage throws, the source is not
    /// asked any more, and items under way are destroyed.
    void run() { run(std::index_sequence_for<Stages...>()); }

private:
    friend class Pool;
    template <class, class, class>
    friend class Pipeline;
    using Slot = detail::Slot<Types...>;

    Pipeline(const evenkeel_pool* pool, Source source, std::tuple<Stages...> stages, std::optional<std::size_t> in_flight)
        : pool_(pool), source_(std::move(source)), stages_(std::move(stages)), in_flight_(in_flight) {}

    template <class Stage>
    auto with(Stage stage) {
        using Last = std::tuple_element_t<sizeof...(Types) - 1, std::tuple<Types...>>;
        using Out = detail::Out<std::invoke_result_t<decltype(Stage::f)&, Last&&>>;
        using Longer = Pipeline<Source, std::tuple<Types..., Out>, std::tuple<Stages..., Stage>>;
        auto stages = std::tuple_cat(std::move(stages_), std::tuple<Stage>(std::move(stage)));
        return Longer(pool_, std::move(source_), std::move(stages), in_flight_);
    }

    template <std::size_t... I>
    void run(std::index_sequence<I...>) {
        detail::Owned<evenkeel_pipeline, evenkeel_pipeline_drop> pipeline(
            detail::made(evenkeel_pipeline_new(pool_, next, this, Slot::release)));
        (detail::check(std::tuple_element_t<I, std::tuple<Stages...>>::add(pipeline.get(), step<I>, this)), ...);
        if (in_flight_) evenkeel_pipeline_in_flight(pipeline.get(), *in_flight_);
        failure_.rethrow(evenkeel_pipeline_run(pipeline.release()));
    }

    static int next(void** item, void* data) noexcept {
        auto& self = *static_cast<Pipeline*>(data);
        return self.failure_.guard([&] {
            if (auto value = self.source_()) {
                auto slot = std::make_unique<Slot>();
                slot->put(std::move(*value));
                *item = slot.release();
            }
        });
    }

    template <std::size_t I>
    static int step(void** item, void* data) noexcept {
        using In = std::tuple_element_t<I, std::tuple<Types...>>;
        using Out = std::tuple_element_t<I + 1, std::tuple<Types...>>;
        auto& self = *static_cast<Pipeline*>(data);
        auto& slot = *static_cast<Slot*>(*item);
        return self.failure_.guard([&] {
            auto& f = std::get<I>(self.stages_).f;
            if constexpr (std::is_same_v<Out, detail::Nothing>) {
                f(std::move(slot.template get<In>()));
                slot.put(Out());
            } else {
                Out out = f(std::move(slot.template get<In>()));
                slot.put(std::move(out));
            }
        });
    }

    const evenkeel_pool* pool_;
    Source source_;
    std::tuple<Stages...> stages_;
    std::optional<std::size_t> in_flight_;
    detail::Failure failure_;
};

/// Workers that run tasks and loops: one per core that the process may use, each kept on its core. Its destructor joins its threads.
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
            kinds.push_back({evenkeel_pool_kind_name(pool_.get(), kind), evenkeel_pool_kind_capacity(pool_.get(), kind)});
        }
        return kinds;
    }

    /// The pool, for the C interface. It stays ours.
    const evenkeel_pool* c() const { return pool_.get(); }

    /// Calls `f` on a worker, and returns what it returns. Loops, scopes and joins inside begin without a change of threads: so a program
    /// with many short ones does well to be in one call of this as a whole.
    template <class F>
    auto run(F&& f) const -> std::invoke_result_t<F&> {
        detail::Result<std::invoke_result_t<F&>> result;
        detail::Failure failure;
        auto call = detail::guarded(failure, [&] { result.of(f); });
        failure.rethrow(evenkeel_run(pool_.get(), call.run, &call));
        return result.take();
    }

    /// Calls two functions, perhaps at once, and returns a pair of what they return; nothing, where they do not.
    template <class A, class B>
    auto join(A&& a, B&& b) const {
        using First = std::invoke_result_t<A&>;
        using Second = std::invoke_result_t<B&>;
        static_assert(std::is_void_v<First> == std::is_void_v<Second>, "both return something, or neither");
        detail::Result<First> first;
        detail::Result<Second> second;
        detail::Failure failure;
        auto call_first = detail::guarded(failure, [&] { first.of(a); });
        auto call_second = detail::guarded(failure, [&] { second.of(b); });
        failure.rethrow(evenkeel_join(pool_.get(), call_first.run, &call_first, call_second.run, &call_second));
        if constexpr (!std::is_void_v<First>) return std::pair<First, Second>(first.take(), second.take());
    }

    /// Calls `f` with each number from `begin` to before `end`, or each element from one random-access iterator to before another, on all
    /// cores at once, and returns when all calls have.
    template <class B, class E, class F>
    void for_each(B begin, E end, F&& f) const {
        over(begin, end).for_each(f);
    }

    /// Calls `f(begin, end)` with parts of the range, each as long as is handed out at a time.
    template <class B, class E, class F>
    void for_each_chunk(B begin, E end, F&& f) const {
        over(begin, end).for_each_chunk(f);
    }

    /// See Over::map_reduce.
    template <class B, class E, class T, class Map, class Reduce>
    T map_reduce(B begin, E end, T identity, Map&& map, Reduce&& reduce) const {
        return over(begin, end).map_reduce(std::move(identity), std::forward<Map>(map), std::forward<Reduce>(reduce));
    }

    /// A loop of which more can be said before it begins.
    template <class B, class E>
    auto over(B begin, E end) const {
        using I = std::common_type_t<B, E>;
        return Over<I>(pool_.get(), static_cast<I>(begin), static_cast<I>(end));
    }

    /// Calls `f(Scope&)` on a worker; returns what that returns, when all tasks created in the scope have ended. Where one of them throws,
    /// or `f` does, those that have not begun are left out.
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
            return call.failure.guard([&] { call.result.of([&]() -> decltype(auto) { return call.f(call.scope); }); });
        };
        call.failure.rethrow(evenkeel_scope_run(pool_.get(), body, &call));
        return call.result.take();
    }

    /// Calls `f(Recorder&)`, here, and returns a graph of the tasks that it created, to be run again and again. The pool must be there
    /// whenever it is.
    template <class F>
    Graph record(F&& f) const {
        auto failure = std::make_unique<detail::Failure>();
        Recorder recorder(*failure);
        f(recorder);
        auto* graph = evenkeel_graph_new(pool_.get(), recorder.recorder_.get());
        return Graph(std::move(failure), graph);
    }

    /// Items from `source`, which returns a std::optional, empty when there are no more, go through the stages that are added to it. The
    /// source is asked by one worker at a time.
    template <class Source>
    auto pipeline(Source source) const {
        using Item = typename std::invoke_result_t<Source&>::value_type;
        return Pipeline<Source, std::tuple<Item>, std::tuple<>>(pool_.get(), std::move(source), {}, std::nullopt);
    }

private:
    explicit Pool(const evenkeel_options* options) {
        if (evenkeel_abi() != EVENKEEL_ABI) throw Error("the evenkeel library is not the one that this header is of");
        pool_.reset(detail::made(evenkeel_pool_new(options)));
    }
    detail::Owned<evenkeel_pool, evenkeel_pool_drop> pool_;
};

}  // namespace evenkeel

#endif  // EVENKEEL_HPP
