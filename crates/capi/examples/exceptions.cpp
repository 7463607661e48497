// An exception of a task or a loop leaves the call that it was given to, and the pool works on.
#include <evenkeel.hpp>
#include <iostream>
#include <stdexcept>
#include <string>

int main() {
    evenkeel::Pool pool;
    try {
        pool.for_each(0, 1'000'000, [](int i) {
            if (i == 1234) throw std::out_of_range("number " + std::to_string(i));
        });
    } catch (const std::out_of_range& error) {
        std::cout << error.what() << '\n';
    }

    try {
        evenkeel::Handle a;
        pool.scope([&](evenkeel::Scope& s) {
            s.task().writes(a).run([] { throw std::string("first"); });
            s.task().reads(a).run([] { std::cout << "waits for what failed, and is left out\n"; });
        });
    } catch (const std::string& error) {
        std::cout << error << '\n';
    }

    try {
        evenkeel::Pool(evenkeel::Options().workers(0));
    } catch (const evenkeel::Error& error) {
        std::cout << error.what() << '\n';
    }
    std::cout << pool.map_reduce(
                     0, 10, 0, [](int sum, int i) { return sum + i; },
                     [](int a, int b) { return a + b; })
              << '\n';
}
