// Tasks by what they read and write, and a graph that is run again and again, in C++.
#include <atomic>
#include <cstddef>
#include <evenkeel.hpp>
#include <iostream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

constexpr std::size_t n = 1000, block = 100;

long fib(const evenkeel::Pool& pool, int n) {
    if (n < 2) return n;
    const auto [a, b] =
        pool.join([&] { return fib(pool, n - 1); }, [&] { return fib(pool, n - 2); });
    return a + b;
}

int main() {
    evenkeel::Pool pool;

    // Blocks of an array: each is filled, then changed by its left neighbour, then added up.
    std::vector<long> grid(n);
    long sum = 0;
    evenkeel::Regions regions(n, block);
    evenkeel::Handle result;
    pool.scope([&](evenkeel::Scope& s) {
        for (std::size_t at = 0; at < n; at += block) {
            s.task().writes(regions.part(at, at + block)).label("fill").run([&grid, at] {
                std::iota(grid.begin() + long(at), grid.begin() + long(at + block), long(at));
            });
        }
        for (std::size_t at = block; at < n; at += block) {
            s.task()
                .reads(regions.part(at - block, at))
                .updates(regions.part(at, at + block))
                .label("shift")
                .run([&grid, at] { grid[at] += grid[at - block]; });
        }
        s.task().reads(regions.part(0, n)).writes(result).label("add").run([&] {
            sum = std::accumulate(grid.begin(), grid.end(), 0L);
        });
    });
    std::cout << sum << '\n';

    // Independent tasks may create others.
    std::atomic<int> leaves{0};
    pool.scope([&](evenkeel::Scope& s) {
        for (int i = 0; i < 10; ++i) {
            s.spawn([&] {
                for (int j = 0; j < 10; ++j) s.spawn([&] { ++leaves; });
            });
        }
    });
    std::cout << leaves << '\n';

    // The order of a graph's tasks is computed once. Closures may be of any kind: this one owns a
    // text.
    std::string text;
    evenkeel::Handle of_text;
    auto graph = pool.record([&](evenkeel::Recorder& g) {
        for (const std::string part : {"one ", "two ", "three "}) {
            g.task().updates(of_text).run([&text, part] { text += part; });
        }
    });
    graph.run();
    graph.run();
    std::cout << text << '\n' << fib(pool, 20) << '\n';
}
