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
 * The return value if evenkeel itself has failed: evenkeel_error() says why.
 */
#define EVENKEEL_ERROR -2147483647

/**
 * A recorded graph. All threads may use it; one at a time runs it.
 */
typedef struct evenkeel_graph evenkeel_graph;

/**
 * A resource that tasks read and write; what it stands for is up to you. Several scopes and
 * threads may use it at once. It may be dropped as soon as all tasks that name it have been
 * created.
 */
typedef struct evenkeel_handle evenkeel_handle;

/**
 * Options of a pool. An option that is not set comes from the environment (EVENKEEL_MACHINE,
 * EVENKEEL_POLICY, EVENKEEL_SCHEDULE, EVENKEEL_LEND, EVENKEEL_TRACE, EVENKEEL_SUMMARY), else from
 * the machine.
 */
typedef struct evenkeel_options evenkeel_options;

/**
 * Passes items from a source through stages, some of which take one item at a time and in order.
 * An item is a pointer, which a stage may replace by another. An item that a stage makes NULL is
 * gone: later stages are not called with it. Items that have left the last stage, or are under way
 * when a stage fails, are given to the pipeline's `release`.
 */
typedef struct evenkeel_pipeline evenkeel_pipeline;

/**
 * Workers that run tasks and loops: one per core that the process may use, each kept on its core.
 */
typedef struct evenkeel_pool evenkeel_pool;

/**
 * Records the tasks of a graph, by evenkeel_recorder_task(). Handles and regions that they name
 * must exist until evenkeel_graph_new().
 */
typedef struct evenkeel_recorder evenkeel_recorder;

/**
 * Handles for the parts of an array, one per block of elements: parts that share a block conflict.
 * Used as handles otherwise.
 */
typedef struct evenkeel_regions evenkeel_regions;

/**
 * Creates tasks. It lives during evenkeel_scope_run(), and all of its tasks on all threads may use
 * it meanwhile, except as evenkeel_scope_task() says.
 */
typedef struct evenkeel_scope evenkeel_scope;

/**
 * A task that has not been created: calls state what it reads and writes. It will run after those
 * tasks, created before it in its scope or graph, that conflict with it: that write what it reads
 * or writes, or read what it writes. Ends with evenkeel_task_run(), evenkeel_task_run_copy() or
 * evenkeel_task_drop(), before its scope or recorder does. All its functions accept NULL; the one
 * that creates the task then fails, so one check for errors is enough.
 */
typedef struct evenkeel_task evenkeel_task;

/**
 * A function of yours with its data. It returns 0 for success.
 */
typedef int (*evenkeel_function)(void *data);

/**
 * Runs the iterations from `begin` to before `end`.
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
 * Gives back data that is not needed any more: free() is one.
 */
typedef void (*evenkeel_release)(void *data);

/**
 * A source makes an item in `*item`, which is NULL and stays so if there is none left. A stage may
 * replace `*item` by another item.
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
 * The reason of the last failure of a call of this thread that returned EVENKEEL_ERROR, or NULL in
 * place of a pointer. Valid until the next failure; "" if there was none.
 */
const char *evenkeel_error(void);

/**
 * Options of which none is set.
 */
struct evenkeel_options *evenkeel_options_new(void);

/**
 * Gives options back. A pool that was made with them does not need them any more.
 */
void evenkeel_options_drop(struct evenkeel_options *options);

/**
 * Sets the number of workers, 1 to 4096. They are on the fastest cores; workers beyond the number
 * of cores share cores again from the fastest.
 */
void evenkeel_options_workers(struct evenkeel_options *options, size_t workers);

/**
 * Sets how tasks find their workers: "fifo", "steal", "steal-kind" (the default), "cats". An
 * unknown policy, schedule or machine is an error of evenkeel_pool_new().
 */
int evenkeel_options_policy(struct evenkeel_options *options, const char *name);

/**
 * Sets the schedule of loops without one of their own: "static", "dynamic", "guided",
 * "aid-static", "aid-dynamic", "aid-affinity", each optionally with ",CHUNK".
 */
int evenkeel_options_schedule(struct evenkeel_options *options, const char *schedule);

/**
 * Sets the machine whose kinds of core are used: a preset's name or a file.
 */
int evenkeel_options_machine(struct evenkeel_options *options, const char *name_or_path);

/**
 * Sets if each worker is pinned to its core (see evenkeel_options_lend()). The default is true.
 */
void evenkeel_options_pin(struct evenkeel_options *options, bool pins);

/**
 * Sets if cores are lent. A worker that loses its core to another program while it has work in
 * hand then gets the core of a worker that has nothing to do, until that work is done. So does a
 * worker on a slower core, if a worker on a faster core has had nothing to do for a millisecond.
 * The default is true.
 */
void evenkeel_options_lend(struct evenkeel_options *options, bool lends);

/**
 * Sets the file to which evenkeel_pool_drop() writes a trace, for ui.perfetto.dev: what each
 * worker did when, and what had to wait for what. "%p" in its name stands for the process's
 * number; "": no trace. A file that cannot be written gives a message on stderr, and no error.
 */
int evenkeel_options_trace(struct evenkeel_options *options, const char *file);

/**
 * Sets if evenkeel_pool_drop() writes evenkeel_pool_summary() to stderr. Costs of tasks with
 * labels are then learnt on cores of one kind, too.
 */
void evenkeel_options_summary(struct evenkeel_options *options, bool wanted);

/**
 * Starts a pool. Without options (NULL) it has one worker per core, pinned, and detects the kinds
 * of core.
 */
struct evenkeel_pool *evenkeel_pool_new(const struct evenkeel_options *options);

/**
 * Ends a pool: its threads have ended when this returns. The pool must be idle, and none of its
 * own tasks may call this.
 */
void evenkeel_pool_drop(struct evenkeel_pool *pool);

/**
 * The number of workers.
 */
size_t evenkeel_pool_workers(const struct evenkeel_pool *pool);

/**
 * The number of kinds of core that the workers are on. Kinds are numbered from 0, fastest first.
 */
size_t evenkeel_pool_kinds(const struct evenkeel_pool *pool);

/**
 * The name of a kind: "big", "P". NULL: there are fewer kinds, or `pool` is NULL. It lives as long
 * as the pool.
 */
const char *evenkeel_pool_kind_name(const struct evenkeel_pool *pool, size_t kind);

/**
 * The speed of a kind relative to the fastest of the machine, which has 1024. 0: there are fewer
 * kinds.
 */
uint32_t evenkeel_pool_kind_capacity(const struct evenkeel_pool *pool, size_t kind);

/**
 * The kind of core that a worker is on. Workers are numbered from 0, fastest kind first. If there
 * are fewer workers, the number of kinds.
 */
size_t evenkeel_pool_worker_kind(const struct evenkeel_pool *pool, size_t worker);

/**
 * The CPU that a worker is on, by the operating system's number. -1: the system places it, or
 * there are fewer workers, or `pool` is NULL.
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
 * without a change of threads. So a program with many short ones does well to run in one such
 * call.
 */
int evenkeel_run(const struct evenkeel_pool *pool, evenkeel_function run, void *data);

/**
 * As evenkeel_run(), but work begun inside is kept apart: a worker that waits inside for a scope,
 * a loop or a join meanwhile does only work that was begun there, too. Use it to wait with a lock
 * in hand that other tasks take.
 */
int evenkeel_isolate(const struct evenkeel_pool *pool, evenkeel_function run, void *data);

/**
 * Calls two functions, perhaps at once. If the first fails before the second has begun, the second
 * is not called.
 */
int evenkeel_join(const struct evenkeel_pool *pool,
                  evenkeel_function first,
                  void *first_data,
                  evenkeel_function second,
                  void *second_data);

/**
 * A loop from `begin` to before `end`, on all cores at once. It calls `chunk` with parts of the
 * range, many at a time, and returns when all are done. `schedule` is as in
 * evenkeel_options_schedule(); NULL: the pool's. The first part that fails ends the loop.
 */
int evenkeel_for(const struct evenkeel_pool *pool,
                 size_t begin,
                 size_t end,
                 const char *schedule,
                 evenkeel_chunk chunk,
                 void *data);

/**
 * As evenkeel_for(), for a loop with a name. Traces show the name, and the costs of iterations are
 * learnt together for all loops with it. Names are kept for good, so let them be few. `label`
 * NULL: no name.
 */
int evenkeel_for_labelled(const struct evenkeel_pool *pool,
                          const char *label,
                          size_t begin,
                          size_t end,
                          const char *schedule,
                          evenkeel_chunk chunk,
                          void *data);

/**
 * A reduction. `value` points to `size` bytes that are a neutral element of the sum (0 for an
 * addition). Each worker begins with a copy of them, aligned to 64 bytes, and adds its parts of
 * the loop to it by `fold`; `combine` adds the copies to each other, in any order. The sum is
 * copied to `value`, which stays as it is if one of the functions fails.
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
 * As evenkeel_reduce(), for a loop with a name: see evenkeel_for_labelled().
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
 * Regions for an array of `len` elements in blocks of `block` (0 counts as 1).
 */
struct evenkeel_regions *evenkeel_regions_new(size_t len, size_t block);

/**
 * Gives regions back.
 */
void evenkeel_regions_drop(struct evenkeel_regions *regions);

/**
 * Opens a scope and calls `body` with it, on a worker. Returns when `body` has returned and all
 * tasks created meanwhile have ended. If one of them or `body` fails, tasks that have not begun
 * are left out.
 */
int evenkeel_scope_run(const struct evenkeel_pool *pool, evenkeel_body body, void *data);

/**
 * Creates an independent task, which calls `run` with `data` on any worker, perhaps at once.
 * `release` is called with `data` once: after that, or when the task is left out, or if it cannot
 * be created. NULL: there is nothing to release.
 */
int evenkeel_scope_spawn(const struct evenkeel_scope *scope,
                         evenkeel_function run,
                         void *data,
                         evenkeel_release release);

/**
 * As evenkeel_scope_spawn(), with a copy of the `size` bytes at `data` that the task owns: `run`
 * is called with a pointer to it, aligned to 16 bytes. Copies of up to 32 bytes are nearly free.
 */
int evenkeel_scope_spawn_copy(const struct evenkeel_scope *scope,
                              evenkeel_function run,
                              const void *data,
                              size_t size);

/**
 * Leaves out all tasks that have not begun, and those that are created later. This is no error.
 */
void evenkeel_scope_cancel(const struct evenkeel_scope *scope);

/**
 * True if the scope has been cancelled, or one of its tasks has failed: a long task may check this
 * and return early.
 */
bool evenkeel_scope_is_cancelled(const struct evenkeel_scope *scope);

/**
 * A task of a scope. Only the thread that opened the scope, which is the one that runs its body,
 * creates tasks with dependences.
 */
struct evenkeel_task *evenkeel_scope_task(const struct evenkeel_scope *scope);

/**
 * A task of a graph that is being recorded.
 */
struct evenkeel_task *evenkeel_recorder_task(struct evenkeel_recorder *recorder);

/**
 * The task reads this: it waits for the task that wrote it last.
 */
void evenkeel_task_reads(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * The task writes this: it waits for the task that wrote it last, and for all that have read it
 * since.
 */
void evenkeel_task_writes(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * The task reads and writes this: it waits as one that writes it.
 */
void evenkeel_task_updates(struct evenkeel_task *task, const struct evenkeel_handle *handle);

/**
 * The task reads the elements from `begin` to before `end`.
 */
void evenkeel_task_reads_part(struct evenkeel_task *task,
                              const struct evenkeel_regions *regions,
                              size_t begin,
                              size_t end);

/**
 * The task writes the elements from `begin` to before `end`.
 */
void evenkeel_task_writes_part(struct evenkeel_task *task,
                               const struct evenkeel_regions *regions,
                               size_t begin,
                               size_t end);

/**
 * The task reads and writes the elements from `begin` to before `end`.
 */
void evenkeel_task_updates_part(struct evenkeel_task *task,
                                const struct evenkeel_regions *regions,
                                size_t begin,
                                size_t end);

/**
 * Names the task: on machines with several kinds of core, costs are learnt together for all tasks
 * of a name. Names are kept for good, so let them be few. Tasks without dependences have no names.
 */
void evenkeel_task_label(struct evenkeel_task *task, const char *name);

/**
 * The time of a recorded task on the fastest kind of core, for policies that plan graphs. If the
 * costs of its name have been learnt, only the ratios between tasks of that name count. For tasks
 * of a scope, costs are only learnt.
 */
void evenkeel_task_cost(struct evenkeel_task *task, uint64_t nanoseconds);

/**
 * Creates the task, and gives `task` back. It calls `run` with `data` once all that it waits for
 * is done, perhaps at once, on any worker; a task of a graph does so in each run. `release` is
 * called with `data` once: after that (for a graph: when it is dropped), or when the task is left
 * out, or if it cannot be created. NULL: there is nothing to release.
 */
int evenkeel_task_run(struct evenkeel_task *task,
                      evenkeel_function run,
                      void *data,
                      evenkeel_release release);

/**
 * As evenkeel_task_run(), with a copy of the `size` bytes at `data` that the task owns: `run` is
 * called with a pointer to it, aligned to 16 bytes. Copies of up to 32 bytes are nearly free.
 */
int evenkeel_task_run_copy(struct evenkeel_task *task,
                           evenkeel_function run,
                           const void *data,
                           size_t size);

/**
 * Gives a task back without creating it.
 */
void evenkeel_task_drop(struct evenkeel_task *task);

/**
 * A new recorder without tasks.
 */
struct evenkeel_recorder *evenkeel_recorder_new(void);

/**
 * Gives a recorder back. Recorded tasks that are in no graph are released.
 */
void evenkeel_recorder_drop(struct evenkeel_recorder *recorder);

/**
 * Makes a graph of the recorded tasks, for workers of this pool, which must exist whenever the
 * graph is run. The recorder is empty after it.
 */
struct evenkeel_graph *evenkeel_graph_new(const struct evenkeel_pool *pool,
                                          struct evenkeel_recorder *recorder);

/**
 * As evenkeel_graph_new(), for a graph that this policy runs, whatever the pool's is. "heft",
 * "cpop", "peft", "dls", "ldcp", "lmt" and "hed" plan the whole graph, by the costs of its tasks
 * (evenkeel_task_cost(), evenkeel_task_label()); those of evenkeel_options_policy() take tasks as
 * they become ready. If there is no such policy, the recorder keeps its tasks.
 */
struct evenkeel_graph *evenkeel_graph_new_with(const struct evenkeel_pool *pool,
                                               struct evenkeel_recorder *recorder,
                                               const char *policy);

/**
 * Runs every task once, and returns when all have ended. If one fails, tasks that have not begun
 * are left out. The graph can be run again.
 */
int evenkeel_graph_run(const struct evenkeel_graph *graph);

/**
 * The number of its tasks.
 */
size_t evenkeel_graph_len(const struct evenkeel_graph *graph);

/**
 * Gives a graph back. It must not be running.
 */
void evenkeel_graph_drop(struct evenkeel_graph *graph);

/**
 * A pipeline of this pool without stages. `source` makes one item after the other; one worker at a
 * time calls it. `release` gives items back; NULL: they need no release. Ends with
 * evenkeel_pipeline_run() or evenkeel_pipeline_drop().
 */
struct evenkeel_pipeline *evenkeel_pipeline_new(const struct evenkeel_pool *pool,
                                                evenkeel_step source,
                                                void *data,
                                                evenkeel_release release);

/**
 * Adds a stage at the end that takes one item at a time, in the order of the source.
 */
int evenkeel_pipeline_serial(struct evenkeel_pipeline *pipeline, evenkeel_step stage, void *data);

/**
 * Adds a stage at the end that takes any number of items at a time, in any order.
 */
int evenkeel_pipeline_parallel(struct evenkeel_pipeline *pipeline, evenkeel_step stage, void *data);

/**
 * Names the stage that was added last. Traces show the name, and costs are learnt under it. Names
 * are kept for good, so let them be few. The pipeline must have a stage.
 */
int evenkeel_pipeline_label(struct evenkeel_pipeline *pipeline, const char *name);

/**
 * The most items that are under way at a time (0 counts as 1). The default is four for each
 * worker, and more if cores are unequal.
 */
void evenkeel_pipeline_in_flight(struct evenkeel_pipeline *pipeline, size_t items);

/**
 * Runs until the source has no more items and all have left the last stage, and gives the pipeline
 * back. If the source or a stage fails, the source is not called any more.
 */
int evenkeel_pipeline_run(struct evenkeel_pipeline *pipeline);

/**
 * Gives a pipeline back without running it.
 */
void evenkeel_pipeline_drop(struct evenkeel_pipeline *pipeline);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* EVENKEEL_H */
