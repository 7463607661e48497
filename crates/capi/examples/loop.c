// A loop and a reduction in C.
#include <evenkeel.h>
#include <stdio.h>
#include <stdlib.h>

struct axpy {
    double a;
    const double* x;
    double* y;
};

// Parts of a loop are whole loops: the compiler vectorises them as any other.
static int axpy(size_t begin, size_t end, void* data) {
    const struct axpy* it = data;
    for (size_t i = begin; i < end; ++i) it->y[i] += it->a * it->x[i];
    return 0;
}

static int add_up(void* value, size_t begin, size_t end, void* data) {
    const double* y = data;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += y[i];
    *(double*)value += sum;
    return 0;
}

static int add(void* into, void* from, void* data) {
    (void)data;
    *(double*)into += *(double*)from;
    return 0;
}

int main(void) {
    enum { N = 1000000 };
    evenkeel_pool* pool = evenkeel_pool_new(NULL);
    if (!pool) {
        fprintf(stderr, "error: %s\n", evenkeel_error());
        return 1;
    }
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y), sum = 0;
    if (!x || !y) return 1;
    for (size_t i = 0; i < N; ++i) x[i] = (double)i, y[i] = 1;

    struct axpy it = {2, x, y};
    int failed = evenkeel_for(pool, 0, N, NULL, axpy, &it);
    if (!failed) failed = evenkeel_reduce(pool, 0, N, NULL, &sum, sizeof sum, add_up, add, y);
    // Every partial sum is a whole number below 2^53, and so exact: the order of the additions does
    // not matter here.
    printf("%.0f\n", sum);

    free(x);
    free(y);
    evenkeel_pool_drop(pool);
    return failed;
}
