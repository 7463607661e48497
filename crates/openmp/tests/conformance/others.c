// Constructs beside plain loops, each three times. Prints what must not depend on the division.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int own;
#pragma omp threadprivate(own)

static long values[1000];

static void collapsed(void) {
    long sum = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int i = 0; i < 37; i++)
        for (int j = 50; j > 3; j -= 2) sum += i * 1000 + j;
    printf("collapse %ld\n", sum);
    sum = 0;
#pragma omp parallel for collapse(3) schedule(static) reduction(+ : sum)
    for (unsigned i = 0; i < 3; i++)
        for (long j = -4; j <= 4; j++)
            for (short k = 0; k < 11; k += 3) sum += i * 100 + j * 10 + k;
    printf("collapse of three %ld\n", sum);
}

static void vectors(void) {
    double sum = 0;
    static double a[1003], b[1003];
#pragma omp parallel for simd
    for (int i = 0; i < 1003; i++) a[i] = i, b[i] = 2 * i;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
    for (int i = 0; i < 1003; i++) sum += a[i] * b[i];
    printf("simd %.0f\n", sum);
}

static void in_order(void) {
    int next = 0, wrong = 0;
#pragma omp parallel for ordered schedule(static)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        wrong += next++ != i;
    }
    printf("ordered %d %d\n", next, wrong);
    next = 0;
#pragma omp parallel for ordered schedule(dynamic, 3)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        wrong += next++ != i;
    }
    printf("ordered dynamic %d %d\n", next, wrong);
}

static void parts(void) {
    int a = 0, b = 0, c = 0, singles = 0;
#pragma omp parallel
    {
#pragma omp sections nowait
        {
#pragma omp section
            a = 1;
#pragma omp section
            b = 2;
#pragma omp section
            c = 3;
        }
#pragma omp single
        singles++;
#pragma omp critical
        values[0]++;
#pragma omp barrier
#pragma omp master
        singles += 10;
    }
    printf("sections %d single %d\n", a + b + c, singles);
}

static void nested(void) {
    long sum = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp for
        for (int i = 0; i < 100; i++) sum += i;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
        for (int i = 0; i < 64; i++) sum += i;
#pragma omp for
        for (int i = 0; i < 100; i++) sum += i;
    }
    printf("nested %ld\n", sum - 2 * 2016 * (omp_get_max_threads() > 0));
    sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            long inner = 0;
#pragma omp parallel for if (i < 0) reduction(+ : inner)
            for (int j = 0; j < 10; j++) inner += j;
            sum += inner;
        }
    }
    printf("serialised inside %ld\n", sum);
    omp_set_max_active_levels(1);
    sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 300; i++) {
#pragma omp parallel for reduction(+ : sum)
        for (int j = 0; j < 30; j++) sum += j;
    }
    printf("inactive inside %ld\n", sum);
}

static void privates(void) {
    own = 5;
    long sum = 0, first = 7;
#pragma omp parallel copyin(own) reduction(+ : sum)
    {
        own += 1;
#pragma omp for firstprivate(first)
        for (int i = 0; i < 1000; i++) sum += own * i + first;
    }
    printf("threadprivate %ld\n", sum);
#pragma omp parallel for
    for (int i = 0; i < 1000; i++) values[i] = i;
    int highest = 0;
#pragma omp parallel for reduction(max : highest) lastprivate(first)
    for (int i = 0; i < 1000; i++) {
        first = values[i] * 3;
        if (values[i] > highest) highest = (int)values[i];
    }
    printf("lastprivate %ld highest %d\n", first, highest);
}

static void teams(void) {
    long sum = 0;
#pragma omp teams distribute parallel for num_teams(2) thread_limit(2) reduction(+ : sum)
    for (int i = 0; i < 10000; i++) sum += i;
    printf("teams %ld\n", sum);
    sum = 0;
#pragma omp teams distribute num_teams(3) reduction(+ : sum)
    for (int i = 0; i < 10000; i++) sum += i;
    printf("distribute %ld\n", sum);
}

static void sizes(void) {
    for (int threads = 1; threads <= 9; threads++) {
        long sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
        for (int i = 0; i < 5000; i++) sum += i;
        printf("%d threads %ld\n", threads, sum);
    }
    long sum = 0;
#pragma omp parallel for if (sum > 0) reduction(+ : sum)
    for (int i = 0; i < 5000; i++) sum += i;
    printf("if %ld\n", sum);
}

static void tasks(void) {
    long sum = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(10) shared(sum)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            sum += i;
        }
        for (int i = 0; i < 50; i++) {
#pragma omp task shared(sum)
            {
#pragma omp atomic
                sum += 1;
            }
        }
#pragma omp taskwait
    }
    printf("tasks %ld\n", sum);
}

static void orphan(long* sum) {
    long mine = 0;
#pragma omp for
    for (int i = 0; i < 777; i++) mine += i;
#pragma omp atomic
    *sum += mine;
}

static void orphans(void) {
    long sum = 0;
#pragma omp parallel
    for (int n = 0; n < 4; n++) {
        orphan(&sum);
#pragma omp barrier
    }
    orphan(&sum);
    printf("orphaned %ld\n", sum);
}

static void many(void) {
    // More arguments than registers, an odd and an even number of them.
    long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, k = 9;
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) shared(a, b, c, d, e, f, g, h, k)
    for (int i = 0; i < 100; i++)
        sum += a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + k * 9 + i;
    printf("many %ld\n", sum);
    sum = 0;
#pragma omp parallel for reduction(+ : sum) shared(a, b, c, d)
    for (int i = 0; i < 100; i++) sum += a + b * 2 + c * 3 + d * 4 + i;
    printf("four %ld\n", sum);
    sum = 0;
#pragma omp parallel for reduction(+ : sum) shared(a, b, c, d, e)
    for (int i = 0; i < 100; i++) sum += a + b * 2 + c * 3 + d * 4 + e * 5 + i;
    printf("five %ld\n", sum);
}

static void various_trips(void) {
    // More trip counts in one region than are learned.
    for (int n = 1; n < 40; n++) {
        long sum = 0;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < 17 * n; i++) sum += i;
        printf("%d iterations %ld\n", 17 * n, sum);
    }
}

// Often enough that loops without a chunk get one.
static void dynamic_often(void) {
    static int seen[4000];
    long wrong = 0;
    for (int n = 0; n < 150; n++) {
        int count = 3000 + n % 3 * 7;
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < count; i++) seen[i]++;
#pragma omp parallel for schedule(dynamic)
        for (unsigned long long i = count; i > 0; i--) seen[i - 1] += 2;
        for (int i = 0; i < count; i++) {
            wrong += seen[i] != 3;
            seen[i] = 0;
        }
    }
    printf("dynamic often %ld\n", wrong);
}

int main(void) {
    dynamic_often();
    for (int n = 0; n < 3; n++) {
        collapsed();
        vectors();
        in_order();
        parts();
        nested();
        privates();
        teams();
        sizes();
        tasks();
        orphans();
        many();
        various_trips();
    }
    return 0;
}
