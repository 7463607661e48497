// What evenkeel.h says, claim by claim. Ends with the number of the line that is not so.
#include <evenkeel.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(claim)                                                            \
    do {                                                                        \
        if (!(claim)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

static int says(const char* part) { return strstr(evenkeel_error(), part) != NULL; }

static int fail_with(void* data) { return *(int*)data; }

static int count(void* data) {
    atomic_fetch_add((atomic_int*)data, 1);
    return 0;
}

static void count_release(void* data) { atomic_fetch_add((atomic_int*)data, 1); }

static int in_evenkeel(void* data) { return evenkeel_run(data, NULL, NULL); }

static void codes_come_back_from_calls(evenkeel_pool* pool) {
    int seven = 7, zero = 0;
    atomic_int calls = 0;
    CHECK(evenkeel_run(pool, fail_with, &seven) == 7 && evenkeel_run(pool, fail_with, &zero) == 0);
    CHECK(evenkeel_join(pool, fail_with, &zero, fail_with, &seven) == 7);
    CHECK(evenkeel_join(pool, fail_with, &seven, fail_with, &zero) == 7);
    CHECK(evenkeel_join(pool, count, &calls, count, &calls) == 0 && calls == 2);

    CHECK(evenkeel_isolate(pool, fail_with, &seven) == 7 &&
          evenkeel_isolate(pool, fail_with, &zero) == 0);
    CHECK(evenkeel_isolate(pool, NULL, NULL) == EVENKEEL_ERROR && says("run: NULL"));
    CHECK(evenkeel_run(NULL, count, &calls) == EVENKEEL_ERROR && says("pool: NULL"));
    CHECK(evenkeel_run(pool, NULL, NULL) == EVENKEEL_ERROR && says("run: NULL"));
    CHECK(evenkeel_join(pool, count, &calls, NULL, NULL) == EVENKEEL_ERROR && says("second: NULL"));
    // Where evenkeel fails on a worker, the caller learns why.
    CHECK(evenkeel_run(pool, in_evenkeel, pool) == EVENKEEL_ERROR && says("run: NULL"));
}

static int fail_at_500(size_t begin, size_t end, void* data) {
    if (begin <= 500 && 500 < end) return 5;
    atomic_fetch_add((atomic_size_t*)data, end - begin);
    return 0;
}

static int add_up(void* value, size_t begin, size_t end, void* data) {
    CHECK((uintptr_t)value % 64 == 0);
    for (size_t i = begin; i < end; ++i) ((size_t*)value)[1] += i;
    return data && begin <= 500 && 500 < end ? 5 : 0;
}

static int add(void* into, void* from, void* data) {
    (void)data;
    ((size_t*)into)[1] += ((size_t*)from)[1];
    return 0;
}

static void loops_are_shared_out_by_schedule(evenkeel_pool* pool) {
    const char* schedules[] = {NULL,     "static",     "static,3",    "dynamic",     "dynamic,7",
                               "guided", "aid-static", "aid-dynamic", "aid-affinity"};
    for (size_t i = 0; i < sizeof schedules / sizeof *schedules; ++i) {
        atomic_size_t done = 0;
        CHECK(evenkeel_for(pool, 501, 10000, schedules[i], fail_at_500, &done) == 0 &&
              done == 9499);
        size_t value[2] = {42, 0};
        CHECK(evenkeel_reduce(pool, 0, 10000, schedules[i], value, sizeof value, add_up, add,
                              NULL) == 0);
        CHECK(value[0] == 42 && value[1] == 49995000);
    }
    atomic_size_t done = 0;
    CHECK(evenkeel_for(pool, 0, 1000000, "dynamic,10", fail_at_500, &done) == 5 && done < 1000000);
    CHECK(evenkeel_for(pool, 9, 3, NULL, fail_at_500, &done) == 0);
    size_t value[2] = {0, 0};
    CHECK(evenkeel_reduce(pool, 0, 10000, NULL, value, sizeof value, add_up, add, pool) == 5 &&
          value[1] == 0);
    CHECK(evenkeel_reduce(pool, 5, 5, NULL, value, sizeof value, add_up, add, NULL) == 0 &&
          value[1] == 0);
    CHECK(evenkeel_for(pool, 0, 9, "dynmic", fail_at_500, &done) == EVENKEEL_ERROR &&
          says("dynmic"));
    CHECK(evenkeel_for(pool, 0, 9, "\xff", fail_at_500, &done) == EVENKEEL_ERROR &&
          says("no UTF-8"));
}

struct plan {
    const evenkeel_scope* scope;
    evenkeel_handle* handle;
    atomic_int run, released;
    int fails, cancels;
};

static int once_per_task(void* data) {
    struct plan* plan = data;
    return atomic_fetch_add(&plan->run, 1) + 1 == plan->fails ? 3 : 0;
}

static void release_plan(void* data) { atomic_fetch_add(&((struct plan*)data)->released, 1); }

static int spawn_thousand(const evenkeel_scope* scope, void* data) {
    struct plan* plan = data;
    if (plan->cancels) evenkeel_scope_cancel(scope);
    CHECK(evenkeel_scope_is_cancelled(scope) == (plan->cancels != 0));
    for (int i = 0; i < 500; ++i) {
        CHECK(evenkeel_scope_spawn(scope, once_per_task, plan, release_plan) == 0);
        evenkeel_task* task = evenkeel_scope_task(scope);
        evenkeel_task_updates(task, plan->handle);
        CHECK(evenkeel_task_run(task, once_per_task, plan, release_plan) == 0);
    }
    return 0;
}

static void data_is_released_once_whatever_becomes_of_its_task(evenkeel_pool* pool) {
    evenkeel_handle* handle = evenkeel_handle_new();
    struct plan plan = {.handle = handle};
    CHECK(evenkeel_scope_run(pool, spawn_thousand, &plan) == 0 && plan.run == 1000 &&
          plan.released == 1000);
    struct plan fails = {.handle = handle, .fails = 100};
    CHECK(evenkeel_scope_run(pool, spawn_thousand, &fails) == 3 && fails.run >= 100 &&
          fails.released == 1000);
    struct plan cancels = {.handle = handle, .cancels = 1};
    CHECK(evenkeel_scope_run(pool, spawn_thousand, &cancels) == 0 && cancels.run == 0 &&
          cancels.released == 1000);

    atomic_int released = 0;
    CHECK(evenkeel_scope_spawn(NULL, count, &released, count_release) == EVENKEEL_ERROR &&
          released == 1);
    CHECK(evenkeel_task_run(NULL, count, &released, count_release) == EVENKEEL_ERROR &&
          released == 2);
    evenkeel_handle_drop(handle);
}

static int on_another_worker(void* data) {
    struct plan* plan = data;
    evenkeel_task* task = evenkeel_scope_task(plan->scope);
    // On the opener's own thread it may.
    if (task) return evenkeel_task_drop(task), 0;
    evenkeel_task_reads(task, plan->handle);
    CHECK(says("thread that opened its scope"));
    CHECK(evenkeel_task_run(task, count, &plan->run, release_plan) == EVENKEEL_ERROR &&
          says("thread that opened its scope"));
    return 0;
}

static int tasks_elsewhere(const evenkeel_scope* scope, void* data) {
    struct plan* plan = data;
    plan->scope = scope;
    for (int i = 0; i < 100; ++i)
        CHECK(evenkeel_scope_spawn(scope, on_another_worker, plan, NULL) == 0);

    evenkeel_task* task = evenkeel_scope_task(scope);
    evenkeel_task_reads(task, NULL);
    CHECK(evenkeel_task_run(task, count, &plan->run, NULL) == EVENKEEL_ERROR &&
          says("handle: NULL"));
    task = evenkeel_scope_task(scope);
    evenkeel_task_label(task, "\xff");
    CHECK(evenkeel_task_run(task, count, &plan->run, NULL) == EVENKEEL_ERROR &&
          says("name: no UTF-8"));
    task = evenkeel_scope_task(scope);
    evenkeel_task_reads(task, plan->handle);
    CHECK(evenkeel_task_run(task, NULL, NULL, NULL) == EVENKEEL_ERROR && says("run: NULL"));
    return 0;
}

static void tasks_that_cannot_be_created_say_why(evenkeel_pool* pool) {
    struct plan plan = {.handle = evenkeel_handle_new()};
    CHECK(evenkeel_scope_run(pool, tasks_elsewhere, &plan) == 0 && plan.run == 0);
    evenkeel_handle_drop(plan.handle);
}

struct access {
    void (*whole)(evenkeel_task*, const evenkeel_handle*);
    void (*part)(evenkeel_task*, const evenkeel_regions*, size_t, size_t);
};
static const struct access reads = {evenkeel_task_reads, evenkeel_task_reads_part};
static const struct access writes = {evenkeel_task_writes, evenkeel_task_writes_part};
static const struct access updates = {evenkeel_task_updates, evenkeel_task_updates_part};

struct pair {
    const struct access *before, *after;
    evenkeel_handle* handle;
    evenkeel_regions* regions;
    atomic_int run;
};

static int pair_of_tasks(const evenkeel_scope* scope, void* data) {
    static int three = 3;
    struct pair* pair = data;
    evenkeel_task *before = evenkeel_scope_task(scope), *after = evenkeel_scope_task(scope);
    if (pair->handle) {
        pair->before->whole(before, pair->handle), pair->after->whole(after, pair->handle);
    } else {
        pair->before->part(before, pair->regions, 0, 15),
            pair->after->part(after, pair->regions, 17, 30);
    }
    CHECK(evenkeel_task_run(before, fail_with, &three, NULL) == 0);
    CHECK(evenkeel_task_run(after, count, &pair->run, NULL) == 0);
    return 0;
}

static void what_waits_for_a_task_that_fails_is_left_out(evenkeel_pool* pool) {
    const struct access* conflicts[][2] = {
        {&writes, &reads},  {&updates, &reads}, {&reads, &writes},
        {&reads, &updates}, {&writes, &writes}, {&updates, &updates},
    };
    evenkeel_handle* handle = evenkeel_handle_new();
    evenkeel_regions* regions = evenkeel_regions_new(100, 10);
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; ++i) {
        struct pair whole = {.before = conflicts[i][0], .after = conflicts[i][1], .handle = handle};
        CHECK(evenkeel_scope_run(pool, pair_of_tasks, &whole) == 3 && whole.run == 0);
        // Of blocks of ten: they share the second.
        struct pair part = {
            .before = conflicts[i][0], .after = conflicts[i][1], .regions = regions};
        CHECK(evenkeel_scope_run(pool, pair_of_tasks, &part) == 3 && part.run == 0);
    }
    evenkeel_handle_drop(handle);
    evenkeel_regions_drop(regions);
}

enum { LARGEST = 300 };
static atomic_int copies;

static int look_at_copy(void* data) {
    const unsigned char* bytes = data;
    CHECK((uintptr_t)data % 16 == 0);
    // The first two bytes say how many there are; all others are what that says.
    size_t size = (size_t)bytes[0] + 256 * (size_t)bytes[1];
    for (size_t i = 2; i < size; ++i) CHECK(bytes[i] == (unsigned char)(size + i));
    atomic_fetch_add(&copies, 1);
    return 0;
}

static int copy_all_sizes(const evenkeel_scope* scope, void* data) {
    unsigned char bytes[LARGEST];
    for (size_t size = 2; size <= LARGEST; ++size) {
        bytes[0] = (unsigned char)(size % 256), bytes[1] = (unsigned char)(size / 256);
        for (size_t i = 2; i < size; ++i) bytes[i] = (unsigned char)(size + i);
        CHECK(evenkeel_scope_spawn_copy(scope, look_at_copy, bytes, size) == 0);
        evenkeel_task* task = evenkeel_scope_task(scope);
        evenkeel_task_updates(task, data);
        CHECK(evenkeel_task_run_copy(task, look_at_copy, bytes, size) == 0);
    }
    return 0;
}

static void copies_of_all_sizes_arrive_whole(evenkeel_pool* pool) {
    evenkeel_handle* handle = evenkeel_handle_new();
    CHECK(evenkeel_scope_run(pool, copy_all_sizes, handle) == 0 && copies == 2 * (LARGEST - 1));
    evenkeel_handle_drop(handle);
}

static int run_itself(void* data) {
    return evenkeel_graph_run(*(evenkeel_graph**)data) == EVENKEEL_ERROR && says("is being run")
               ? 0
               : 1;
}

static void graphs_run_again_and_are_released_once(evenkeel_pool* pool) {
    struct plan plan = {.fails = 14};
    evenkeel_regions* regions = evenkeel_regions_new(100, 10);
    evenkeel_recorder* recorder = evenkeel_recorder_new();
    for (size_t i = 0; i < 10; ++i) {
        evenkeel_task* task = evenkeel_recorder_task(recorder);
        evenkeel_task_reads_part(task, regions, 10 * i, 10 * i + 10);
        evenkeel_task_updates_part(task, regions, 10 * i + 10, 10 * i + 20);
        CHECK(evenkeel_task_run(task, once_per_task, &plan, release_plan) == 0);
    }
    evenkeel_graph* graph = evenkeel_graph_new(pool, recorder);
    evenkeel_recorder_drop(recorder);
    evenkeel_regions_drop(regions);
    CHECK(evenkeel_graph_len(graph) == 10 && evenkeel_graph_run(graph) == 0 && plan.run == 10);
    // The tasks are a chain: what comes after the one that fails is left out.
    CHECK(evenkeel_graph_run(graph) == 3 && plan.run == 14);
    CHECK(evenkeel_graph_run(graph) == 0 && plan.run == 24 && plan.released == 0);
    evenkeel_graph_drop(graph);
    CHECK(plan.released == 10);

    recorder = evenkeel_recorder_new();
    CHECK(evenkeel_task_run(evenkeel_recorder_task(recorder), run_itself, &graph, NULL) == 0);
    graph = evenkeel_graph_new(pool, recorder);
    CHECK(evenkeel_graph_run(graph) == 0 && evenkeel_graph_run(graph) == 0);
    evenkeel_graph_drop(graph);
    CHECK(evenkeel_task_run_copy(evenkeel_recorder_task(recorder), run_itself, &graph,
                                 sizeof graph) == 0);
    evenkeel_recorder_drop(recorder);
    CHECK(evenkeel_graph_run(NULL) == EVENKEEL_ERROR && says("graph: NULL"));
}

static void a_graph_is_planned_by_the_policy_that_is_named(evenkeel_pool* pool) {
    struct plan plan = {.fails = -1};
    evenkeel_recorder* recorder = evenkeel_recorder_new();
    for (int i = 0; i < 10; ++i) {
        evenkeel_task* task = evenkeel_recorder_task(recorder);
        evenkeel_task_label(task, "step");
        evenkeel_task_cost(task, 1000 * (1 + i));
        CHECK(evenkeel_task_run(task, once_per_task, &plan, release_plan) == 0);
    }
    CHECK(!evenkeel_graph_new_with(pool, recorder, "heft2") && says("no graph policy 'heft2'"));
    CHECK(!evenkeel_graph_new_with(pool, recorder, NULL) && says("policy: NULL"));
    CHECK(!evenkeel_graph_new_with(pool, NULL, "heft") && says("recorder: NULL"));
    evenkeel_graph* graph = evenkeel_graph_new_with(pool, recorder, "heft");
    CHECK(evenkeel_graph_len(graph) == 10 && evenkeel_graph_run(graph) == 0 && plan.run == 10);
    CHECK(evenkeel_graph_run(graph) == 0 && plan.run == 20);
    evenkeel_graph_drop(graph);
    evenkeel_recorder_drop(recorder);
    CHECK(plan.released == 10);
}

struct line {
    long next, most;
    long fails_at, sum;
    atomic_long live;
};
static struct line line;
enum { IN_FLIGHT = 5 };

static int make(void** item, void* data) {
    struct line* it = data;
    CHECK(*item == NULL);
    // Beside the one that is being made: no more than IN_FLIGHT.
    CHECK(atomic_load(&it->live) < IN_FLIGHT);
    if (it->next == 1000) return 0;
    long* number = malloc(sizeof *number);
    CHECK(number);
    *number = it->next++;
    atomic_fetch_add(&it->live, 1);
    *item = number;
    return 0;
}

static void drop_item(void* item) {
    atomic_fetch_sub(&line.live, 1);
    free(item);
}

static int only_even(void** item, void* data) {
    (void)data;
    long* number = *item;
    if (*number % 2) drop_item(number), *item = NULL;
    return 0;
}

static int add_in_order(void** item, void* data) {
    struct line* it = data;
    long number = *(long*)*item;
    CHECK(number >= it->most && number % 2 == 0);
    it->most = number;
    it->sum += number;
    return number == it->fails_at ? 6 : 0;
}

static int run_line(evenkeel_pool* pool) {
    evenkeel_pipeline* pipeline = evenkeel_pipeline_new(pool, make, &line, drop_item);
    evenkeel_pipeline_in_flight(pipeline, IN_FLIGHT);
    CHECK(evenkeel_pipeline_label(pipeline, "even") == EVENKEEL_ERROR &&
          says("stage to be named: NULL"));
    CHECK(evenkeel_pipeline_parallel(pipeline, only_even, NULL) == 0);
    CHECK(evenkeel_pipeline_label(pipeline, "\xff") == EVENKEEL_ERROR &&
          evenkeel_pipeline_label(pipeline, "even") == 0);
    CHECK(evenkeel_pipeline_serial(pipeline, add_in_order, &line) == 0);
    CHECK(evenkeel_pipeline_serial(pipeline, NULL, NULL) == EVENKEEL_ERROR && says("stage: NULL"));
    return evenkeel_pipeline_run(pipeline);
}

static void items_leave_a_pipeline_or_are_released(evenkeel_pool* pool) {
    line = (struct line){.fails_at = -1};
    CHECK(run_line(pool) == 0 && line.sum == 249500 && line.live == 0);
    line = (struct line){.fails_at = 500};
    CHECK(run_line(pool) == 6 && line.live == 0 && line.next < 1000);
    evenkeel_pipeline_drop(evenkeel_pipeline_new(pool, make, &line, drop_item));
    CHECK(evenkeel_pipeline_run(NULL) == EVENKEEL_ERROR);
}

static void pools_say_what_they_are_and_why_they_are_not(void) {
    CHECK(evenkeel_abi() == EVENKEEL_ABI && strlen(evenkeel_version()) >= 5);
    CHECK(strcmp(evenkeel_error(), "") == 0);
    evenkeel_options* options = evenkeel_options_new();
    evenkeel_options_workers(options, 3);
    evenkeel_options_pin(options, false);
    evenkeel_options_lend(options, false);
    CHECK(evenkeel_options_policy(options, "steal") == 0 &&
          evenkeel_options_schedule(options, "dynamic,2") == 0);
    evenkeel_pool* pool = evenkeel_pool_new(options);
    CHECK(pool && evenkeel_pool_workers(pool) == 3 && evenkeel_pool_kinds(pool) >= 1);
    CHECK(evenkeel_pool_kind_name(pool, 0) && !evenkeel_pool_kind_name(pool, 99));
    CHECK(evenkeel_pool_kind_capacity(pool, 0) == 1024 &&
          evenkeel_pool_kind_capacity(pool, 99) == 0);
    CHECK(evenkeel_pool_worker_kind(pool, 0) == 0 &&
          evenkeel_pool_worker_kind(pool, 3) == evenkeel_pool_kinds(pool));
    // Not pinned: wherever the system puts it.
    CHECK(evenkeel_pool_worker_cpu(pool, 0) == -1 && evenkeel_pool_worker_cpu(pool, 3) == -1);
    evenkeel_pool_drop(pool);

    CHECK(evenkeel_options_machine(options, NULL) == EVENKEEL_ERROR && says("machine: NULL"));
    CHECK(evenkeel_options_trace(options, NULL) == EVENKEEL_ERROR && says("trace: NULL"));
    CHECK(evenkeel_options_policy(NULL, "steal") == EVENKEEL_ERROR && says("options: NULL"));
    CHECK(!evenkeel_pool_kind_name(NULL, 0) && evenkeel_pool_worker_cpu(NULL, 0) == -1);
    CHECK(evenkeel_options_policy(options, "stael") == 0);
    CHECK(!evenkeel_pool_new(options) && says("stael"));
    evenkeel_options_drop(options);
}

int main(void) {
    pools_say_what_they_are_and_why_they_are_not();
    for (size_t workers = 1; workers <= 4; ++workers) {
        evenkeel_options* options = evenkeel_options_new();
        evenkeel_options_workers(options, workers);
        evenkeel_pool* pool = evenkeel_pool_new(options);
        evenkeel_options_drop(options);
        CHECK(pool);
        copies = 0;
        codes_come_back_from_calls(pool);
        loops_are_shared_out_by_schedule(pool);
        data_is_released_once_whatever_becomes_of_its_task(pool);
        what_waits_for_a_task_that_fails_is_left_out(pool);
        tasks_that_cannot_be_created_say_why(pool);
        copies_of_all_sizes_arrive_whole(pool);
        graphs_run_again_and_are_released_once(pool);
        a_graph_is_planned_by_the_policy_that_is_named(pool);
        items_leave_a_pipeline_or_are_released(pool);
        evenkeel_pool_drop(pool);
    }
    puts("all so");
}
