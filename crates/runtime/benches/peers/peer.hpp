// What all peers have in common: the sizes of the cases, as in ../runtime/cases.rs, and how the
// bench asks for them.
//
// A peer is a process that lives as long as the bench. It says "NAME VERSION", then reads the name
// of a case a line, does it once, and answers "NANOSECONDS CHECK" ("BYTES 0" for the cases of
// memory), or "none" where the system has no such thing.
#pragma once

#include "work.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace peer {

constexpr int WORKERS = 2;
constexpr int TASKS = 1'000'000;
constexpr int CHAINS = 1'000;
constexpr int STEPS = TASKS / CHAINS;
constexpr int FIB = 30;
constexpr int SHORT_LOOPS = 1'000;
constexpr int BARRIERS = 30;
constexpr int ITEMS = 1'000;
// Items of a pipeline that may be under way.
constexpr int IN_FLIGHT = 16 * WORKERS;
// Chunk where a schedule takes one by one.
constexpr int CHUNK = 1'024;
constexpr int CELL_CHUNK = 16;

inline uint64_t last;

inline void pin_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Whether each thread is to keep to a core. (OpenMP's threads have it from OpenMP's own variables.)
inline bool pins() {
    const char* threads = std::getenv("PEER_THREADS");
    return !threads || std::strcmp(threads, "free") != 0;
}

// Memory that this process has, bytes.
inline int64_t resident() {
    long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        std::fclose(file);
    }
    return int64_t(pages) * sysconf(_SC_PAGESIZE);
}

// What `f` adds to that, for each of a million tasks.
template <typename F>
int64_t growth(F&& f) {
    int64_t before = resident();
    f();
    return (resident() - before) / TASKS;
}

// On the first core, by a thread of its own: OpenMP takes the cores of the thread that it is first
// used by for all that there are.
inline void serial_prices() {
    std::thread([] {
        pin_to(0);
        for (int i = 0; i < OPTIONS; ++i) work_price(i);
    }).join();
}

// What has to be put back before a case runs again.
inline void reset(const std::string& name) {
    work_clear(name.c_str());
    last = 0;
}

// Of what a case wrote, a number that is the same in every system.
inline uint64_t check(const std::string& name) {
    return work_count(name.c_str()) > 0 ? work_check(name.c_str()) : last;
}

struct Case {
    const char* name;
    void (*run)();
};

struct Memory {
    const char* name;
    int64_t (*bytes_per_task)();
};

template <size_t N, size_t M>
int serve(const char* name, const std::string& version, const Case (&cases)[N],
          const Memory (&memory)[M]) {
    std::printf("%s %s\n", name, version.c_str());
    std::fflush(stdout);
    char line[64];
    while (std::fgets(line, sizeof line, stdin)) {
        line[std::strcspn(line, "\n")] = 0;
        bool known = false;
        for (const Case& it : cases) {
            if (std::strcmp(it.name, line) != 0) continue;
            known = true;
            reset(line);
            auto start = std::chrono::steady_clock::now();
            it.run();
            std::chrono::duration<double, std::nano> time =
                std::chrono::steady_clock::now() - start;
            std::printf("%.0f %llu\n", time.count(), (unsigned long long)check(line));
        }
        for (const Memory& it : memory) {
            if (std::strcmp(it.name, line) != 0) continue;
            known = true;
            std::printf("%lld 0\n", (long long)it.bytes_per_task());
        }
        if (!known) std::printf("none\n");
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace peer
