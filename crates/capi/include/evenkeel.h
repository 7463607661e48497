/*
 * Evenkeel for C: parallel programs that use all cores of a hybrid processor at once, and finish
 * together.
 *
 * Errors. A function that returns int returns 0 where all went well; what the first function of
 * yours that failed returned, where one did; EVENKEEL_ERROR where evenkeel itself could not do it.
 * One that returns a pointer returns NULL then. evenkeel_error() says why. Choose codes of your own
 * that differ from EVENKEEL_ERROR.
 *
 * Your functions run on the pool's workers, many at a time. They return 0, or fail by returning
 * something else: what has not begun of the loop, scope, graph run or pipeline is then left out,
 * and the code comes back from the call that began it. They do not throw and do not longjmp out;
 * evenkeel.hpp passes C++ exceptions through. `data` is handed to them as it was given, and stays
 * yours.
 *
 * Pointers may be NULL only where it says so. Functions that return int or a pointer find out; the
 * others do not.
 *
 * Threads. A pool may be used by all threads at once, so may handles and regions. All else belongs
 * to one thread at a time unless it says otherwise.
 *
 * Ownership. What a function with `new` in its name returned is yours, until you give it to the one
 * with `drop` in its name (NULL is fine there). Texts that you pass are read during the call; texts
 * that are returned live as long as what was asked, or as they say.
 *
 * Generated from crates/capi/src: EVENKEEL_UPDATE=1 cargo test -p evenkeel-capi --test header
 */

#ifndef EVENKEEL_H
#define EVENKEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The binary interface that this header describes. It is raised when a function goes or changes
 * its meaning, not when one is added.
 */
#define EVENKEEL_ABI 1

/**
 * What is returned where evenkeel itself could not do it: evenkeel_error() says why.
 */
#define EVENKEEL_ERROR -2147483647

/**
 * A recorded graph. May be used by all threads; one of them runs it at a time.
 */
typedef struct evenkeel_graph evenkeel_graph;

/**
 * Something that tasks read and write: what it stands for is your affair. May be used by several
 * scopes and threads at once, and dropped as soon as all tasks that name it have been created.
 */
typedef struct evenkeel_handle evenkeel_handle;

/**
 * What a pool is to be like. What is not said comes from the environment (EVENKEEL_MACHINE,
 * EVENKEEL_POLICY, EVENKEEL_SCHEDULE, EVENKEEL_LEND, EVENKEEL_TRACE, EVENKEEL_SUMMARY), else from
 * the machine.
 */
typedef struct evenkeel_options evenkeel_options;

/**
 * Items from a source go through stages, some of which take one item at a time and in order. An
 * item is a pointer, which a stage may replace by another. One that it makes NULL is gone: later
 * stages are not called with it. What has left the last stage, or is under way when a stage fails,
 * is given to the `release` of the pipeline.
 */
typedef struct evenkeel_pipeline evenkeel_pipeline;

/**
 * Workers that run tasks and loops: one per core that the process may use, each kept on its core.
 */
typedef struct evenkeel_pool evenkeel_pool;

/**
 * Where the tasks of a graph are recorded, by evenkeel_recorder_task(). Handles and regions that
 * they name must be there until evenkeel_graph_new().
 */
typedef struct evenkeel_recorder evenkeel_recorder;

/**
 * Handles for the parts of an array, one per block of so many elements: parts that share a block
 * conflict. As handles otherwise.
 */
typedef struct evenkeel_regions evenkeel_regions;

/**
 * Where tasks are created. Lives while evenkeel_scope_run() does, and may meanwhile be used by all
 * of its tasks on all threads, except for what is said of evenkeel_scope_task().
 */
typedef struct evenkeel_scope evenkeel_scope;

/**
 * A task that has not been created: what it reads and writes is being said. It runs after those of
 * its scope or graph created before it that conflict with it: that write what it reads or writes,
 * or read what it writes. Ends with evenkeel_task_run(), evenkeel_task_run_copy() or
 * evenkeel_task_drop(), before its scope or recorder does. NULL is let through by all of its
 * functions, up to the one that creates it, which fails: so one error is looked for, not many.
 */
typedef struct evenkeel_task evenkeel_task;

/**
 * A function of yours with its data. 0: all went well.
 */
typedef int (*evenkeel_function)(void *data);

/**
 * Does the iterations from `begin` to before `end`.
 */
typedef int (*evenkeel_chunk)(size_t begin, size_t end, void *data);

/**
 * Adds the iterations from `begin` to before `end` to a value.
 */
typedef int (*evenkeel_fold)(void *value, size_t begin, size_t end, void *data);

/**
 * Adds one value to another. `from` is not used again.
 */
typedef int (*evenkeel_combine)(void *into, void *from, void *data);

/**
 * Creates tasks.
 */
typedef int (*evenkeel_body)(const struct evenkeel_scope *scope, void *data);

/**
 * Gives back what is not needed any more: free() is one.
 */
typedef void (*evenkeel_release)(void *data);

/**
 * Makes an item (`*item` is NULL, and still is after it where there is none left), or makes
 * another of one.
 */
typedef int (*evenkeel_step)(void **item, void *data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The binary interface of the library that is linked: EVENKEEL_ABI of its header.
 */
unsigned int evenkeel_abi(void);

/**
 * The version of the library that is linked, "0.1.0".
 */
const char *evenkeel_version(void);

/**
 * Why the last call of this thread that returned EVENKEEL_ERROR, or NULL where a pointer was due,
 * did so. Valid until the next one that does; "" if there was none.
 */
const char *evenkeel_error(void);

/**
 * Options that say nothing.
 */
struct evenkeel_options *evenkeel_options_new(void);

/**
 * Gives options back. A pool that was made with them needs them no more.
 */
void evenkeel_options_drop(struct evenkeel_options *options);

/**
 * So many workers, 1 to 4096: on the fastest cores, and round again where they are more than
 * cores.
 */
void evenkeel_options_workers(struct evenkeel_options *options, size_t workers);

/**
 * How tasks find their workers: "fifo", "steal", "steal-kind" (the default), "cats". Whether there
 * is such a policy, schedule or machine is found out by evenkeel_pool_new().
 */
int evenkeel_options_policy(struct evenkeel_options *options, const char *name);

/**
 * How loops are shared out that do not say: "static", "dynamic", "guided", "aid-static",
 * "aid-dynamic", "aid-affinity", each with ",CHUNK" where wanted.
 */
int evenkeel_options_schedule(struct evenkeel_options *options, const char *schedule);

/**
 * The machine whose kinds of core count: a preset's name or a file.
 */
int evenkeel_options_machine(struct evenkeel_options *options, const char *name_or_path);

/**
 * Whether each worker keeps to its core (but evenkeel_options_lend()). It does unless told
 * otherwise.
 */
void evenkeel_options_pin(struct evenkeel_options *options, bool pins);

/**
 * Whether a worker that loses its core to another program while it has work in hand is lent that
 * of one that has nothing to do, until it has done that work; and so is one that works on a slower
 * core while one on a faster core has had nothing to do for a millisecond. It is unless told
 * otherwise.
 */
void evenkeel_options_lend(struct evenkeel_options *options, bool lends);

/**
 * The file that a trace is written to by evenkeel_pool_drop(), to be opened at ui.perfetto.dev:
 * what each worker did when, and what had to wait for what. "%p" in its name stands for the
 * process's number; "": none. A file that cannot be written is said on stderr, and is no error.
 */
int evenkeel_options_trace(struct evenkeel_options *options, const char *file);

/**
 * Whether evenkeel_pool_drop() writes to stderr what the pool has done: evenkeel_pool_summary().
 * Costs of tasks with labels are then learnt on cores of one kind, too.
 */
void evenkeel_options_summary(struct evenkeel_options *options, bool wanted);

/**
 * Starts a pool. Without options (NULL): one worker per core, pinned, core kinds detected.
 */
struct evenkeel_pool *evenkeel_pool_new(const struct evenkeel_options *options);

/**
 * Ends a pool: its threads have ended when this returns. Nothing may be under way in it: not by
 * one of its own tasks.
 */
void evenkeel_pool_drop(struct evenkeel_pool *pool);

/**
 * How many workers there are.
 */
size_t evenkeel_pool_workers(const struct evenkeel_pool *pool);

/**
 * How many kinds of core the workers are on. Kinds are numbered from 0, fastest first.
 */
size_t evenkeel_pool_kinds(const struct evenkeel_pool *pool);

/**
 * The name of a kind: "big", "P". NULL: there are less, or `pool` is NULL. Lives as long as the
 * pool.
 */
const char *evenkeel_pool_kind_name(const struct evenkeel_pool *pool, size_t kind);

/**
 * The speed of a kind relative to the fastest of the machine, which has 1024. 0: there are less
 * kinds.
 */
uint32_t evenkeel_pool_kind_capacity(const struct evenkeel_pool *pool, size_t kind);

/**
 * The kind of core that a worker is on. Workers are numbered from 0, fastest kind first. The
 * number of kinds: there are less workers.
 */
size_t evenkeel_pool_worker_kind(const struct evenkeel_pool *pool, size_t worker);

/**
 * The CPU that a worker is on, as the operating system counts. -1: wherever the system puts it, or
 * there are less workers, or `pool` is NULL.
 */
int evenkeel_pool_worker_cpu(const struct evenkeel_pool *pool, size_t worker);

/**
 * What the pool has done so far, as a table of several lines: what each worker and each kind of
 * core ran, stole and left to faster ones, how long they were busy, looked for work and slept, and
 * what tasks with labels have cost. Writes at most `size` bytes of it to `buffer`, the last of
 * them 0, and returns how long the whole is without that 0: as snprintf() does. `buffer` may be
 * NULL where `size` is 0.
 */
size_t evenkeel_pool_summary(const struct evenkeel_pool *pool, char *buffer, size_t size);

/**
 * Calls `run` on a worker, and returns what it returns. Loops, scopes and joins inside begin
 * without a change of threads: so a program with many short ones does well to be in one call of
 * this as a whole.
 */
int evenkeel_run(const struct evenkeel_pool *pool, evenkeel_function run, void *data);

/**
 * As evenkeel_run(), but what is begun within is kept to itself: whoever waits there for a scope,
 * a loop or a join does nothing meanwhile but what was begun there, too. For waits with a lock in
 * hand that other tasks want.
 */
int evenkeel_isolate(const struct evenkeel_pool *pool, evenkeel_function run, void *data);

/**
 * Calls two functions, perhaps at once. Where the first fails before the second has begun, the
 * second is not called.
 */
int evenkeel_join(const struct evenkeel_pool *pool,
                  evenkeel_function first,
                  void *first_data,
                  evenkeel_function second,
                  void *second_data);

/**
 * A loop from `begin` to before `end`, on all cores at once: calls `chunk` with parts of it, one
 * after the other and many at a time, and returns when all is done. `schedule` as in
 * evenkeel_options_schedule; NULL: the pool's. The first part that fails ends the loop.
 */
int evenkeel_for(const struct evenkeel_pool *pool,
                 size_t begin,
                 size_t end,
                 const char *schedule,
                 evenkeel_chunk chunk,
                 void *data);

/**
 * As evenkeel_for(), of a loop that has a name: in traces, and what an iteration costs is learnt
 * with that of others of the same name. A program keeps the names that it uses, so let them be
 * few. `label` NULL: none.
 */
int evenkeel_for_labelled(const struct evenkeel_pool *pool,
                          const char *label,
                          size_t begin,
                          size_t end,
                          const char *schedule,
                          evenkeel_chunk chunk,
                          void *data);

/**
 * A loop that brings values together. `value` points to `size` bytes, which are such that adding
 * them changes nothing (0 for a sum): each worker begins with a copy of them, aligned to 64 bytes,
 * adds its parts of the loop to it by `fold`, and the copies are added to each other by `combine`.
 * In which order is not said. What comes of it is copied to `value`, which is left as it is where
 * one of the functions fails.
 */
int evenkeel_reduce(const struct evenkeel_pool *pool,
                    size_t begin,
                    size_t end,
                    const char *schedule,
                    void *value,
                    size_t size,
                    evenkeel_fold fold,
                    evenkeel_combine combine,
                    void *data);

/**
 * As evenkeel_reduce(), of a loop that has a name: see evenkeel_for_labelled().
 */
int evenkeel_reduce_labelled(const struct evenkeel_pool *pool,
                             const char *label,
                             size_t begin,
                             size_t end,
                             const char *schedule,
                             void *value,
                             size_t size,
                             evenkeel_fold fold,
                             evenkeel_combine combine,
                             void *data);

/**
 * A handle that no task has used.
 */
struct evenkeel_handle *evenkeel_handle_new(void);

/**
 * Gives a handle back.
 */
void evenkeel_handle_drop(struct evenkeel_handle *handle);

/**
 * For an array of `len` elements, told apart by blocks of `block` (0 is taken as 1).
 */
struct evenkeel_regions *evenkeel_regions_new(size_t len, size_t block);

/**
 * Gives regions back.
 */
void evenkeel_regions_drop(struct evenkeel_regions *regions);

/**
 * Opens a scope and calls `body` with it, on a worker: returns when that has returned and all
 * tasks created meanwhile have ended. Where one of them fails, or `body` does, tasks that have not
 * begun are left out.
 */
int evenkeel_scope_run(const struct evenkeel_pool *pool, evenkeel_body body, void *data);

/**
 * Creates an independent task: it calls `run` with `data`, on any worker, perhaps at once. Then,
 * or when it is left out, or where it cannot be created, `release` is called with `data`, once;
 * NULL: nothing is to be released.
 */
int evenkeel_scope_spawn(const struct evenkeel_scope *scope,
                         evenkeel_function run,
                         void *data,
                         evenkeel_release release);

/**
 * As evenkeel_scope_spawn(), with a copy of the `size` bytes at `data`, which goes with the task:
 * `run` is called with a pointer to it, aligned to 16 bytes. Up to 32 bytes cost next to nothing.
 */
int evenkeel_scope_spawn_copy(const struct evenkeel_scope *scope,
                              evenkeel_function run,
                              const void *data,
                              size_t size);

/**
 * Leaves out all tasks that have not begun, and those that are still to be created. No error comes
 * of it.
 */
void evenkeel_scope_cancel(const struct evenkeel_scope *scope);

/**
 * Whether the scope has been cancelled, or one of its tasks has failed: a long task may look, and
 * return early.
 */
bool evenkeel_scope_is_cancelled(const struct evenkeel_scope *scope);

/**
 * A task of a scope. Only the thread that opened the scope creates tasks with dependences: that on
 * which its body runs.
 */
struct evenkeel_task *evenkeel_scope_task(const struct evenkeel_scope *scope);

/**
 * A task of a graph that is being recorded.
 */
struct evenkeel_task *evenkeel_recorder_task(struct evenkeel_recorder *recorder);

/**
 * It reads this: it waits for the task that wrote it last.
 */
void evenkeel_task_reads(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * It writes this: it waits for the task that wrote it last, and all that have read it since.
 */
void evenkeel_task_writes(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * It reads and writes this: it waits as one that writes it.
 */
void evenkeel_task_updates(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * It reads the elements from `begin` to before `end`.
 */
void evenkeel_task_reads_part(struct evenkeel_task *task,
                              const struct evenkeel_regions *regions,
                              size_t begin,
                              size_t end);

/**
 * It writes the elements from `begin` to before `end`.
 */
void evenkeel_task_writes_part(struct evenkeel_task *task,
                               const struct evenkeel_regions *regions,
                               size_t begin,
                               size_t end);

/**
 * It reads and writes the elements from `begin` to before `end`.
 */
void evenkeel_task_updates_part(struct evenkeel_task *task,
                                const struct evenkeel_regions *regions,
                                size_t begin,
                                size_t end);

/**
 * What it is called: on machines with several kinds of core its cost is learnt with that of others
 * of the same name. A program keeps the names that it uses, so let them be few. Tasks without
 * dependences have no names.
 */
void evenkeel_task_label(struct evenkeel_task *task, const char *name);

/**
 * How long a recorded task takes on the fastest kind of core, for policies that plan graphs. Where
 * its name has been learnt only the ratios between tasks of that name count. Of tasks of a scope
 * costs are learnt alone.
 */
void evenkeel_task_cost(struct evenkeel_task *task, uint64_t nanoseconds);

/**
 * Creates the task, and gives `task` back. It calls `run` with `data` when nothing is left that it
 * waits for, perhaps at once, on any worker; a task of a graph each time that this is run. Then
 * (of a graph: when that is dropped), or when it is left out, or where it cannot be created,
 * `release` is called with `data`, once; NULL: nothing is to be released.
 */
int evenkeel_task_run(struct evenkeel_task *task,
                      evenkeel_function run,
                      void *data,
                      evenkeel_release release);

/**
 * As evenkeel_task_run(), with a copy of the `size` bytes at `data`, which goes with the task:
 * `run` is called with a pointer to it, aligned to 16 bytes. Up to 32 bytes cost next to nothing.
 */
int evenkeel_task_run_copy(struct evenkeel_task *task,
                           evenkeel_function run,
                           const void *data,
                           size_t size);

/**
 * Gives a task back that is not to be created.
 */
void evenkeel_task_drop(struct evenkeel_task *task);

/**
 * Nothing has been recorded.
 */
struct evenkeel_recorder *evenkeel_recorder_new(void);

/**
 * Gives a recorder back. What it has recorded, and is in no graph, is released.
 */
void evenkeel_recorder_drop(struct evenkeel_recorder *recorder);

/**
 * Makes a graph of what has been recorded, for workers of this pool, which must be there whenever
 * the graph is run. The recorder is empty after it.
 */
struct evenkeel_graph *evenkeel_graph_new(const struct evenkeel_pool *pool,
                                          struct evenkeel_recorder *recorder);

/**
 * The same, to be run by this policy, whatever the pool's is: "heft", "cpop", "peft", "dls",
 * "ldcp", "lmt" and "hed" plan the whole graph, by what tasks cost (evenkeel_task_cost(),
 * evenkeel_task_label()); those of evenkeel_options_policy() take tasks as they become ready.
 * Where there is no such policy the recorder keeps what it has.
 */
struct evenkeel_graph *evenkeel_graph_new_with(const struct evenkeel_pool *pool,
                                               struct evenkeel_recorder *recorder,
                                               const char *policy);

/**
 * Runs every task once, and returns when all have ended. Where one fails, those that have not
 * begun are left out. The graph can be run again.
 */
int evenkeel_graph_run(const struct evenkeel_graph *graph);

/**
 * How many tasks it has.
 */
size_t evenkeel_graph_len(const struct evenkeel_graph *graph);

/**
 * Gives a graph back that is not being run.
 */
void evenkeel_graph_drop(struct evenkeel_graph *graph);

/**
 * A pipeline of this pool without stages. `source` makes one item after the other; it is called by
 * one worker at a time. `release` gives back items, NULL: they are nothing to be given back. Ends
 * with evenkeel_pipeline_run() or evenkeel_pipeline_drop().
 */
struct evenkeel_pipeline *evenkeel_pipeline_new(const struct evenkeel_pool *pool,
                                                evenkeel_step source,
                                                void *data,
                                                evenkeel_release release);

/**
 * A stage behind those that there are, which takes one item at a time, in the order in which they
 * came from the source.
 */
int evenkeel_pipeline_serial(struct evenkeel_pipeline *pipeline, evenkeel_step stage, void *data);

/**
 * A stage behind those that there are, which takes any number of items at a time, in any order.
 */
int evenkeel_pipeline_parallel(struct evenkeel_pipeline *pipeline, evenkeel_step stage, void *data);

/**
 * Names the stage that was added last: in traces, and its cost is learnt under that name. A
 * program keeps the names that it uses, so let them be few. There has to be a stage.
 */
int evenkeel_pipeline_label(struct evenkeel_pipeline *pipeline, const char *name);

/**
 * How many items may be under way at a time (0 is taken as 1). Unless it is said, four by worker,
 * and more where cores are unequal.
 */
void evenkeel_pipeline_in_flight(struct evenkeel_pipeline *pipeline, size_t items);

/**
 * Runs until the source has no more items and all have left the last stage, and gives the pipeline
 * back. Where the source or a stage fails, the source is not asked any more.
 */
int evenkeel_pipeline_run(struct evenkeel_pipeline *pipeline);

/**
 * Gives a pipeline back that is not to be run.
 */
void evenkeel_pipeline_drop(struct evenkeel_pipeline *pipeline);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVENKEEL_H */
