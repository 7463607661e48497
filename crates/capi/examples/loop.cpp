// Loops in C++.
#include <cstddef>
#include <cstdint>
#include <evenkeel.hpp>
#include <iostream>
#include <string>
#include <vector>

int main() {
    evenkeel::Pool pool;
    std::vector<std::uint64_t> squares(1'000'000);
    pool.for_each(std::size_t{0}, squares.size(), [&](std::size_t i) { squares[i] = i * i; });

    const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
    std::cout << pool.map_reduce(squares.begin(), squares.end(), std::uint64_t{0}, add, add)
              << '\n';

    // A schedule by name, and parts of the loop as a whole.
    std::vector<int> counts(100);
    pool.over(0, 100).schedule("dynamic,8").for_each_chunk([&](int begin, int end) {
        for (int i = begin; i < end; ++i) ++counts[static_cast<std::size_t>(i)];
    });
    std::cout << (counts == std::vector<int>(100, 1) ? "each once" : "not each once") << '\n';

    // Many short loops: as a whole on a worker.
    const int rounds = pool.run([&] {
        int round = 0;
        while (squares[1] < 1024) {
            pool.for_each(squares.begin(), squares.end(), [](std::uint64_t& it) { it *= 2; });
            ++round;
        }
        return round;
    });
    std::cout << rounds << '\n';
}
