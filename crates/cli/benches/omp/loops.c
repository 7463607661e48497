// A loop again and again: loops COUNT ITERATIONS WORK static|runtime
// Prints the median time of a loop in microseconds, of the first forty and of the second half, and
// the time of all.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double* values;
static double* times;

static double work(double x, int count) {
    for (int k = 0; k < count; k++) x = x * 0.9999999 + 1e-9;
    return x;
}

static void with_static(long iterations, int count) {
#pragma omp parallel for schedule(static)
    for (long i = 0; i < iterations; i++) values[i] = work(values[i], count);
}

static void with_runtime(long iterations, int count) {
#pragma omp parallel for schedule(runtime)
    for (long i = 0; i < iterations; i++) values[i] = work(values[i], count);
}

static int by_value(const void* a, const void* b) {
    double x = *(const double*)a, y = *(const double*)b;
    return x < y ? -1 : x > y;
}

static double median(double* of, long count) {
    qsort(of, count, sizeof *of, by_value);
    return of[count / 2] * 1e6;
}

int main(int count, char** words) {
    if (count < 5) return 2;
    long loops = atol(words[1]), iterations = atol(words[2]);
    int amount = atoi(words[3]);
    values = malloc(iterations * sizeof *values);
    times = malloc(loops * sizeof *times);
    for (long i = 0; i < iterations; i++) values[i] = i;
    double begin = omp_get_wtime();
    for (long n = 0; n < loops; n++) {
        double start = omp_get_wtime();
        if (strcmp(words[4], "static"))
            with_runtime(iterations, amount);
        else
            with_static(iterations, amount);
        times[n] = omp_get_wtime() - start;
    }
    double all = omp_get_wtime() - begin, sum = 0;
    for (long i = 0; i < iterations; i++) sum += values[i];
    long first = loops < 40 ? loops : 40;
    double early = median(times, first);
    printf("%.3f %.3f %.6f %.17g\n", early, median(times + loops / 2, loops - loops / 2), all, sum);
    return 0;
}
