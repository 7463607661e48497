// A loop, a reduction and a stage under names: what they cost is in the summary under these, which
// goes to stdout here, and to stderr at the end. A trace goes to the file that is named.
#include <evenkeel.hpp>

#include <cstdio>
#include <optional>

int main(int, char** arguments) {
    const evenkeel::Pool pool(evenkeel::Options().workers(2).trace(arguments[1]).summary(true));
    long rows[1'000] = {};
    pool.over(0, 1'000).label("rows").for_each([&](int i) { rows[i] = i; });
    const long sum = pool.over(0, 1'000).label("sum").map_reduce(
        0L, [&](long own, int i) { return own + rows[i]; }, [](long a, long b) { return a + b; });
    int next = 0;
    long doubled = 0;
    pool.pipeline([&]() -> std::optional<int> {
            return next < 100 ? std::optional<int>(next++) : std::nullopt;
        })
        .parallel([](int i) { return 2 * i; })
        .label("double")
        .serial([&](int i) { doubled += i; })
        .run();
    std::printf("%ld %ld\n%s", sum, doubled, pool.summary().c_str());
    // As much as there is room for, and how much there is.
    char start[] = "..............";
    const std::size_t length = evenkeel_pool_summary(pool.c(), start, 9);
    std::printf("%s %d\n", start,
                length > 100 && evenkeel_pool_summary(pool.c(), nullptr, 0) > 100);
}
