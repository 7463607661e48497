// A pipeline in C++: words are read in order, worked on many at a time, and written in order.
#include <algorithm>
#include <evenkeel.hpp>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>

int main() {
    evenkeel::Pool pool;
    std::istringstream words("words of a text come out in the order in which they went in");
    std::size_t longest = 0;
    pool.pipeline([&]() -> std::optional<std::string> {
            std::string word;
            if (words >> word) return word;
            return std::nullopt;
        })
        .in_flight(4)
        .parallel([](std::string word) {
            std::reverse(word.begin(), word.end());
            return word;
        })
        .serial([&](const std::string& word) {
            std::cout << word << ' ';
            return word.size();
        })
        .serial([&](std::size_t size) { longest = std::max(longest, size); })
        .run();
    std::cout << '\n' << longest << '\n';
}
