// What all peers have in common: the sizes and the arithmetic of the cases, as in ../runtime/cases.rs, and how the bench asks for them.
//
// A peer is a process that lives as long as the bench. It says "NAME VERSION", then reads the name of a case a line, does it once, and
// answers "NANOSECONDS CHECK" ("BYTES 0" for the cases of memory), or "none" where the system has no such thing.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <sched.h>
#include <unistd.h>

namespace peer {

constexpr int WORKERS = 2;
constexpr int TASKS = 1'000'000;
constexpr int CHAINS = 1'000;
constexpr int STEPS = TASKS / CHAINS;
constexpr int FIB = 30;
constexpr int OPTIONS = 4'000'000;
constexpr int SHORT_LOOPS = 1'000;
constexpr int SHORT_LOOP = 1'000;
constexpr int BARRIERS = 30;
constexpr int CELLS = 2'000;
constexpr int COARSE = 128;
constexpr int ITEMS = 1'000;
// Items of a pipeline that may be under way.
constexpr int IN_FLIGHT = 16 * WORKERS;
// Chunk where a schedule takes one by one.
constexpr int CHUNK = 1'024;
constexpr int CELL_CHUNK = 16;

// Rounds of `work` in about a microsecond.
constexpr int MICROSECOND = 430;
constexpr int SHORT = 8;
constexpr int CELL = 5 * MICROSECOND;
constexpr int TASK = 4'000 * MICROSECOND;
constexpr int SERIAL_STAGE = 10 * MICROSECOND;
constexpr int PARALLEL_STAGE = 100 * MICROSECOND;

// Arithmetic that takes the same time in every language: each step waits for the one before (xorshift64), and compilers are kept from doing two
// calls at once.
inline uint64_t work(uint64_t x, int rounds) {
    x |= 1;
    for (int i = 0; i < rounds; ++i) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        asm volatile("" : "+r"(x));
    }
    return x;
}

// The normal distribution: Abramowitz and Stegun, 26.2.17.
inline double normal(double x) {
    double k = 1.0 / (1.0 + 0.2316419 * std::fabs(x));
    double series =
        k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    double tail = 0.3989422804014327 * std::exp(-0.5 * x * x) * series;
    return x < 0.0 ? tail : 1.0 - tail;
}

// A call by Black and Scholes.
inline double price(uint64_t i) {
    double spot = 50.0 + double(i % 101), strike = 60.0 + double(i % 83);
    double volatility = 0.1 + 0.05 * double(i % 7), years = 0.25 + 0.25 * double(i % 4);
    double spread = volatility * std::sqrt(years);
    double d1 = (std::log(spot / strike) + (0.02 + 0.5 * volatility * volatility) * years) / spread;
    return spot * normal(d1) - strike * std::exp(-0.02 * years) * normal(d1 - spread);
}

inline std::vector<double> prices(OPTIONS);
inline std::array<uint64_t, SHORT_LOOP> few;
inline std::array<uint64_t, CELLS> cells;
inline std::array<uint64_t, COARSE> results;
inline uint64_t last;

inline void price_into(int i) { prices[i] = price(i); }
inline void short_into(int i) { few[i] = work(i, SHORT); }
inline void cell(int i) { cells[i] = work(cells[i] + i, CELL); }
inline void coarse(int i) { results[i] = work(i, TASK); }
inline uint64_t item(uint64_t i) { return work(i, SERIAL_STAGE); }
inline uint64_t change(uint64_t x) { return work(x, PARALLEL_STAGE); }
inline void collect(uint64_t x) { last = work(last * 31 + x, SERIAL_STAGE); }

template <typename Numbers>
uint64_t bits(const Numbers &numbers) {
    uint64_t sum = 0, one;
    static_assert(sizeof numbers[0] == sizeof one);
    for (const auto &number : numbers) {
        std::memcpy(&one, &number, sizeof one);
        sum = 31 * sum + one;
    }
    return sum;
}

inline void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Memory that this process has, bytes.
inline int64_t resident() {
    long pages = 0;
    if (FILE *file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return int64_t(pages) * sysconf(_SC_PAGESIZE);
}

// What `f` adds to that, for each of a million tasks.
template <typename F>
int64_t growth(F &&f) {
    int64_t before = resident();
    f();
    return (resident() - before) / TASKS;
}

inline void serial_prices() {
    for (int i = 0; i < OPTIONS; ++i) price_into(i);
}

// What has to be put back before a case runs again.
inline void reset() {
    cells.fill(0);
    results.fill(0);
    last = 0;
}

// Of what a case wrote, a number that is the same in every system.
inline uint64_t check(const std::string &name) {
    auto is = [&](const char *family) { return name.compare(0, std::strlen(family), family) == 0; };
    if (is("prices")) return bits(prices);
    if (is("short")) return bits(few);
    if (is("frames")) return bits(cells);
    if (is("coarse")) return bits(results);
    if (is("fib") || is("pipeline")) return last;
    return 0;
}

struct Case {
    const char *name;
    void (*run)();
};

struct Memory {
    const char *name;
    int64_t (*bytes_per_task)();
};

template <size_t N, size_t M>
int serve(const char *name, const std::string &version, const Case (&cases)[N], const Memory (&memory)[M]) {
    std::printf("%s %s\n", name, version.c_str());
    std::fflush(stdout);
    char line[64];
    while (std::fgets(line, sizeof line, stdin)) {
        line[std::strcspn(line, "\n")] = 0;
        bool known = false;
        for (const Case &it : cases) {
            if (std::strcmp(it.name, line) != 0) continue;
            known = true;
            reset();
            auto start = std::chrono::steady_clock::now();
            it.run();
            std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
            std::printf("%.0f %llu\n", time.count(), (unsigned long long)check(line));
        }
        for (const Memory &it : memory) {
            if (std::strcmp(it.name, line) != 0) continue;
            known = true;
            std::printf("%lld 0\n", (long long)it.bytes_per_task());
        }
        if (!known) std::printf("none\n");
        std::fflush(stdout);
    }
    return 0;
}

} // namespace peer
