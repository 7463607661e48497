// Tasks by what they read and write, once and as a recorded graph, in C.
#include <evenkeel.h>
#include <stdio.h>

// x -> y = 10 x -> z = y + x; the tasks name handles for x, y and z, and so run in this order
// whatever the number of cores.
struct numbers {
    long x, y, z;
    evenkeel_handle *of_x, *of_y, *of_z;
};

static int set_x(void* data) {
    struct numbers* it = data;
    it->x += 4;
    return 0;
}

static int set_y(void* data) {
    struct numbers* it = data;
    it->y = 10 * it->x;
    return 0;
}

static int set_z(void* data) {
    struct numbers* it = data;
    it->z = it->y + it->x;
    return 0;
}

static int create(evenkeel_task* x, evenkeel_task* y, evenkeel_task* z, struct numbers* it) {
    evenkeel_task_updates(x, it->of_x);
    int failed = evenkeel_task_run(x, set_x, it, NULL);

    evenkeel_task_reads(y, it->of_x);
    evenkeel_task_writes(y, it->of_y);
    evenkeel_task_label(y, "times ten");
    if (evenkeel_task_run(y, set_y, it, NULL)) failed = EVENKEEL_ERROR;

    evenkeel_task_reads(z, it->of_x);
    evenkeel_task_reads(z, it->of_y);
    evenkeel_task_writes(z, it->of_z);
    if (evenkeel_task_run(z, set_z, it, NULL)) failed = EVENKEEL_ERROR;
    return failed;
}

static int body(const evenkeel_scope* s, void* data) {
    return create(evenkeel_scope_task(s), evenkeel_scope_task(s), evenkeel_scope_task(s), data);
}

// A task that fails: its code comes back from the scope.
static int fail(void* data) {
    (void)data;
    return 7;
}

static int failing_body(const evenkeel_scope* s, void* data) {
    return evenkeel_scope_spawn(s, fail, data, NULL);
}

int main(void) {
    evenkeel_pool* pool = evenkeel_pool_new(NULL);
    struct numbers it = {
        0, 0, 0, evenkeel_handle_new(), evenkeel_handle_new(), evenkeel_handle_new()};

    int failed = evenkeel_scope_run(pool, body, &it);
    printf("%ld %ld %ld\n", it.x, it.y, it.z);

    evenkeel_recorder* r = evenkeel_recorder_new();
    if (create(evenkeel_recorder_task(r), evenkeel_recorder_task(r), evenkeel_recorder_task(r),
               &it))
        failed = 1;
    evenkeel_graph* graph = evenkeel_graph_new(pool, r);
    evenkeel_recorder_drop(r);
    for (int i = 0; i < 3; ++i) {
        if (evenkeel_graph_run(graph)) failed = 1;
    }
    printf("%ld %ld %ld\n", it.x, it.y, it.z);
    printf("%d\n", evenkeel_scope_run(pool, failing_body, NULL));

    if (failed) fprintf(stderr, "error: %s\n", evenkeel_error());
    evenkeel_graph_drop(graph);
    evenkeel_handle_drop(it.of_x);
    evenkeel_handle_drop(it.of_y);
    evenkeel_handle_drop(it.of_z);
    evenkeel_pool_drop(pool);
    return failed ? 1 : 0;
}
