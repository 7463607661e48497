// Tasks by what they read and write, their scopes, and graphs of them. Included by evenkeel.hpp.
#ifndef EVENKEEL_TASKS_HPP
#define EVENKEEL_TASKS_HPP

#include "calls.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace evenkeel {

/// A resource that tasks read and write; what it stands for is up to you. It may be destroyed as
/// soon as all tasks that name it have been created.
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

/// Handles for the parts of an array, one per block of elements: parts that share a block conflict.
class Regions {
public:
    /// Regions for an array of `len` elements in blocks of `block` (0 counts as 1).
    Regions(std::size_t len, std::size_t block)
        : regions_(detail::made(evenkeel_regions_new(len, block))) {}

    /// The elements from `begin` to before `end`.
    Part part(std::size_t begin, std::size_t end) const { return {regions_.get(), begin, end}; }

private:
    detail::Owned<evenkeel_regions, evenkeel_regions_drop> regions_;
};

/// A task that has not been created: calls state what it reads and writes. It will run after those
/// tasks, created before it in its scope or graph, that conflict with it: that write what it reads
/// or writes, or read what it writes.
class Task {
public:
    /// The task reads these (handles, parts): it waits for the tasks that wrote them last.
    template <class... Resources>
    Task& reads(const Resources&... resources) {
        (say(resources, evenkeel_task_reads, evenkeel_task_reads_part), ...);
        return *this;
    }
    /// The task writes these: it waits for the tasks that wrote them last, and for all that have
    /// read them since.
    template <class... Resources>
    Task& writes(const Resources&... resources) {
        (say(resources, evenkeel_task_writes, evenkeel_task_writes_part), ...);
        return *this;
    }
    /// The task reads and writes these: it waits as one that writes them.
    template <class... Resources>
    Task& updates(const Resources&... resources) {
        (say(resources, evenkeel_task_updates, evenkeel_task_updates_part), ...);
        return *this;
    }
    /// Names the task: on machines with several kinds of core, costs are learnt together for all
    /// tasks of a name. Names are kept for good, so let them be few.
    Task& label(const char* name) {
        evenkeel_task_label(task_.get(), name);
        return *this;
    }
    Task& label(const std::string& name) { return label(name.c_str()); }
    /// Sets its time on the fastest kind of core, for recorded tasks and policies that plan: see
    /// Pool::record_with.
    Task& cost(std::chrono::nanoseconds time) {
        evenkeel_task_cost(task_.get(),
                           time.count() < 0 ? 0 : static_cast<std::uint64_t>(time.count()));
        return *this;
    }

    /// Creates the task. It calls `f` once all that it waits for is done, perhaps at once, on any
    /// worker; a task of a graph does so in each run.
    template <class F>
    void run(F&& f) {
        if (!task_) throw Error("the task has been created already");
        // Released only once the closure has been made, which may throw.
        detail::give(
            *failure_, std::forward<F>(f),
            [this](evenkeel_function run, const void* data, std::size_t size) {
                return evenkeel_task_run_copy(task_.release(), run, data, size);
            },
            [this](evenkeel_function run, void* data, evenkeel_release release) {
                return evenkeel_task_run(task_.release(), run, data, release);
            });
    }

private:
    friend class Scope;
    friend class Recorder;
    Task(evenkeel_task* task, detail::Failure& failure)
        : task_(detail::made(task)), failure_(&failure) {}

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

/// Creates tasks: see Pool::scope. Tasks may use it on all threads, except task().
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
    /// A task with dependences. Only the thread that opened the scope, which is the one that runs
    /// its function, may call this.
    Task task() { return {evenkeel_scope_task(scope_), failure_}; }
    /// Leaves out all tasks that have not begun, and those that are created later. Nothing is
    /// thrown.
    void cancel() { evenkeel_scope_cancel(scope_); }
    /// True if the scope has been cancelled, or one of its tasks has thrown: a long task may check
    /// this and return early.
    bool is_cancelled() const { return evenkeel_scope_is_cancelled(scope_); }

private:
    friend class Pool;
    explicit Scope(detail::Failure& failure) : failure_(failure) {}
    const evenkeel_scope* scope_ = nullptr;
    detail::Failure& failure_;
};

/// Records the tasks of a graph: see Pool::record.
class Recorder {
public:
    /// A task. Handles and regions that it names must exist until Pool::record returns.
    Task task() { return {evenkeel_recorder_task(recorder_.get()), failure_}; }

private:
    friend class Pool;
    explicit Recorder(detail::Failure& failure) : failure_(failure) {}
    detail::Owned<evenkeel_recorder, evenkeel_recorder_drop> recorder_{
        detail::made(evenkeel_recorder_new())};
    detail::Failure& failure_;
};

/// A recorded graph: see Pool::record. Its pool must exist whenever it is run.
class Graph {
public:
    /// Runs every task once, and returns when all have ended. If one throws, tasks that have not
    /// begun are left out. The graph can be run again.
    void run() { failure_->rethrow(evenkeel_graph_run(graph_.get())); }
    /// The number of its tasks.
    std::size_t size() const { return evenkeel_graph_len(graph_.get()); }

private:
    friend class Pool;
    Graph(std::unique_ptr<detail::Failure> failure, evenkeel_graph* graph)
        : failure_(std::move(failure)), graph_(detail::made(graph)) {}
    std::unique_ptr<detail::Failure> failure_;
    detail::Owned<evenkeel_graph, evenkeel_graph_drop> graph_;
};

}  // namespace evenkeel

#endif  // EVENKEEL_TASKS_HPP
