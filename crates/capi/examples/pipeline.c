// A pipeline in C: numbers are made in order, squared many at a time, and printed in order.
#include <evenkeel.h>
#include <stdio.h>
#include <stdlib.h>

static int make(void** item, void* data) {
    long* next = data;
    if (*next > 9) return 0;  // *item stays NULL: no more
    long* number = malloc(sizeof *number);
    if (!number) return 1;
    *number = (*next)++;
    *item = number;
    return 0;
}

static int square(void** item, void* data) {
    (void)data;
    long* number = *item;
    *number *= *number;
    return 0;
}

static int print(void** item, void* data) {
    (void)data;
    printf("%ld ", *(long*)*item);
    return 0;
}

int main(void) {
    evenkeel_pool* pool = evenkeel_pool_new(NULL);
    long next = 1;
    evenkeel_pipeline* pipeline = evenkeel_pipeline_new(pool, make, &next, free);
    int failed = evenkeel_pipeline_parallel(pipeline, square, NULL) ||
                 evenkeel_pipeline_serial(pipeline, print, NULL) || evenkeel_pipeline_run(pipeline);
    printf("\n");
    if (failed) fprintf(stderr, "error: %s\n", evenkeel_error());
    evenkeel_pool_drop(pool);
    return failed;
}
