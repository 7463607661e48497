// What evenkeel.hpp says, claim by claim. Ends with the number of the line that is not so.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <evenkeel.hpp>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define CHECK(...)                                                                         \
    do {                                                                                   \
        if (!(__VA_ARGS__)) {                                                              \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

namespace {

/// Counts those that live.
struct Live {
    static std::atomic<long> count;
    Live() { ++count; }
    Live(const Live&) { ++count; }
    Live(Live&&) noexcept { ++count; }
    Live& operator=(const Live&) = default;
    Live& operator=(Live&&) = default;
    ~Live() { --count; }
};
std::atomic<long> Live::count{0};

/// What is thrown. It is counted, too, and never copied on its way.
struct Thrown {
    explicit Thrown(int number) : number(number) {}
    int number;
    Live live;
};

/// What `f` throws.
template <class F>
std::optional<int> thrown_by(F&& f) {
    try {
        f();
    } catch (const Thrown& it) {
        return it.number;
    }
    return std::nullopt;
}

/// A reduction of 1 and 2, which meet: so they are on two workers, and there is something to bring
/// together.
template <class T, class Map, class Reduce>
T on_two_workers(const evenkeel::Pool& pool, T identity, Map map, Reduce reduce) {
    std::atomic<int> come{0};
    const auto meet = [&](T value, int i) {
        for (++come; come < 2;) std::this_thread::yield();
        return map(std::move(value), i);
    };
    return pool.over(1, 3).schedule("dynamic,1").map_reduce(std::move(identity), meet, reduce);
}

/// By what a task says that it does.
enum class Kind { independent, chains, readers };

/// 10,000 tasks whose closures are counted, of which some throw.
std::optional<int> ten_thousand(const evenkeel::Pool& pool, Kind kind,
                                const std::vector<bool>& throws) {
    std::vector<evenkeel::Handle> handles(10);
    std::atomic<int> begun{0};
    const auto thrown = thrown_by([&] {
        pool.scope([&](evenkeel::Scope& s) {
            const Live own;
            for (int i = 0; i < 10'000; ++i) {
                const auto& handle = handles[std::size_t(i % 10)];
                auto counted = [live = Live(), &throws, &begun, i] {
                    ++begun;
                    if (throws[std::size_t(i)]) throw Thrown(i);
                };
                // A closure that is copied byte by byte.
                auto bare = [&throws, &begun, i] {
                    ++begun;
                    if (throws[std::size_t(i)]) throw Thrown(i);
                };
                static_assert(std::is_trivially_copyable_v<decltype(bare)> &&
                              !std::is_trivially_copyable_v<decltype(counted)>);
                switch (kind) {
                    case Kind::independent:
                        if (i % 2)
                            s.spawn(std::move(counted));
                        else
                            s.spawn(bare);
                        break;
                    case Kind::chains:
                        if (i % 20 < 10)
                            s.task().updates(handle).label("chain").run(std::move(counted));
                        else
                            s.task().updates(handle).run(bare);
                        break;
                    case Kind::readers:
                        if (i % 50 == 0)
                            s.task().writes(handles[0], handles[1]).run(bare);
                        else
                            s.task().reads(handles[0]).run(counted);
                        break;
                }
            }
        });
    });
    CHECK(Live::count == 0);
    CHECK(thrown || begun == 10'000);
    return thrown;
}

void exceptions_of_any_tasks_arrive_once_and_nothing_leaks(const evenkeel::Pool& pool) {
    std::mt19937 random(7);
    for (const auto kind : {Kind::independent, Kind::chains, Kind::readers}) {
        CHECK(!ten_thousand(pool, kind, std::vector<bool>(10'000, false)));
        CHECK(ten_thousand(pool, kind, std::vector<bool>(10'000, true)));
        for (int round = 0; round < 10; ++round) {
            std::vector<bool> throws(10'000, false);
            std::size_t last = 0;
            for (int i = 0; i < 1 + round % 3; ++i) throws[last = random() % 10'000] = true;
            const auto thrown = ten_thousand(pool, kind, throws);
            CHECK(thrown && throws[std::size_t(*thrown)]);
            CHECK(round % 3 != 0 || *thrown == int(last));
        }
    }
}

void exceptions_come_out_of_every_call(const evenkeel::Pool& pool) {
    const auto raise = [] { throw Thrown(3); };
    CHECK(thrown_by([&] { pool.run(raise); }) == 3);
    CHECK(thrown_by([&] { pool.join(raise, [live = Live()] {}); }) == 3);
    CHECK(thrown_by([&] { pool.join([live = Live()] {}, raise); }) == 3);
    CHECK(thrown_by([&] {
              pool.scope([&](evenkeel::Scope& s) { s.spawn([live = Live()] {}), raise(); });
          }) == 3);
    CHECK(thrown_by([&] {
              pool.record(
                  [&](evenkeel::Recorder& g) { g.task().run([live = Live()] {}), raise(); });
          }) == 3);
    auto planned = pool.record_with("heft", [&](evenkeel::Recorder& g) {
        g.task().cost(std::chrono::microseconds(3)).run(raise);
    });
    CHECK(thrown_by([&] { planned.run(); }) == 3);
    CHECK(thrown_by([&] {
              pool.for_each(0, 100'000, [](int i) {
                  if (i == 777) throw Thrown(i);
              });
          }) == 777);
    // Through one call that is in another.
    CHECK(thrown_by([&] {
              pool.for_each(0, 8,
                            [&](int) { pool.scope([&](evenkeel::Scope& s) { s.spawn(raise); }); });
          }) == 3);
    CHECK(Live::count == 0);

    using Values = std::vector<Live>;
    const auto more = [](Values values, int i) {
        if (i == 5'000) throw Thrown(i);
        if (values.size() < 3) values.emplace_back();
        return values;
    };
    const auto longer = [](Values a, const Values&) { return a; };
    CHECK(thrown_by([&] { pool.map_reduce(0, 100'000, Values(1), more, longer); }) == 5'000);
    const auto raise_of_two = [](int, int) -> int { throw Thrown(9); };
    CHECK(pool.workers() < 2 ||
          thrown_by([&] { on_two_workers(pool, 0, [](int, int) { return 0; }, raise_of_two); }) ==
              9);
    CHECK(Live::count == 0);

    for (const int at : {0, 1, 2, 3}) {
        int next = 0;
        const auto maybe = [at](int place, int i) {
            if (at == place && i == 500) throw Thrown(at);
        };
        CHECK(thrown_by([&] {
                  pool.pipeline([&]() -> std::optional<std::pair<int, Live>> {
                          maybe(0, next);
                          if (next == 1'000) return std::nullopt;
                          return std::pair<int, Live>(next++, Live());
                      })
                      .parallel([&](std::pair<int, Live> it) { return maybe(1, it.first), it; })
                      .serial([&](std::pair<int, Live>&& it) {
                          return maybe(2, it.first), std::make_unique<int>(it.first);
                      })
                      .parallel([&](std::unique_ptr<int> it) { maybe(3, *it); })
                      .run();
              }) == at);
        CHECK(Live::count == 0);
    }
}

void a_graph_that_threw_runs_again(const evenkeel::Pool& pool) {
    bool throws = false;
    std::vector<int> order;
    std::optional<evenkeel::Graph> graph;
    {
        evenkeel::Handle handle;
        graph = pool.record([&](evenkeel::Recorder& g) {
            for (int i = 0; i < 100; ++i) {
                g.task().updates(handle).run([&, i, live = Live()] {
                    if (throws && i == 50) throw Thrown(i);
                    order.push_back(i);
                });
            }
        });
    }
    CHECK(graph->size() == 100 && Live::count == 100);
    for (int round = 0; round < 20; ++round) {
        throws = round % 2 == 1;
        order.clear();
        CHECK(thrown_by([&] { graph->run(); }) == (throws ? std::optional<int>(50) : std::nullopt));
        CHECK(order.size() == (throws ? 50 : 100));
        for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == int(i));
    }
    graph.reset();
    CHECK(Live::count == 0);
}

template <std::size_t N>
void spawn_of_size(evenkeel::Scope& s, std::atomic<std::size_t>& sum,
                   const evenkeel::Handle& handle) {
    std::array<unsigned char, N> bytes;
    bytes.fill(static_cast<unsigned char>(N));
    const auto look = [bytes, &sum] {
        for (const auto byte : bytes) CHECK(byte == static_cast<unsigned char>(N));
        sum += N;
    };
    s.spawn(look);
    s.task().updates(handle).run(look);
}

/// Small enough to be copied byte by byte into a task, which is not aligned as it is.
struct alignas(64) Wide {
    std::atomic<std::size_t>* sum;
    void add() const {
        CHECK(reinterpret_cast<std::uintptr_t>(this) % 64 == 0);
        *sum += 5;
    }
};

void closures_of_any_kind_arrive_whole(const evenkeel::Pool& pool) {
    std::atomic<std::size_t> sum{0};
    evenkeel::Handle handle;
    pool.scope([&](evenkeel::Scope& s) {
        spawn_of_size<1>(s, sum, handle), spawn_of_size<16>(s, sum, handle),
            spawn_of_size<17>(s, sum, handle);
        spawn_of_size<80>(s, sum, handle), spawn_of_size<144>(s, sum, handle),
            spawn_of_size<145>(s, sum, handle);
        spawn_of_size<1000>(s, sum, handle);
        // One that cannot be copied, one that changes, one that is aligned further than anything of
        // C is.
        s.spawn([it = std::make_unique<std::size_t>(7), &sum] { sum += *it; });
        s.task().updates(handle).run([i = std::size_t{1}, &sum]() mutable { sum += ++i; });
        s.spawn([wide = Wide{&sum}] { wide.add(); });
    });
    CHECK(sum == 2 * (1 + 16 + 17 + 80 + 144 + 145 + 1000) + 7 + 2 + 5);
}

void results_come_back(const evenkeel::Pool& pool) {
    int number = 4;
    CHECK(&pool.run([&]() -> int& { return number; }) == &number);
    CHECK(*pool.run([] { return std::make_unique<int>(3); }) == 3);
    CHECK(pool.join([] { return 1; }, [] { return std::string("b"); }) ==
          std::pair<int, std::string>(1, "b"));
    CHECK(pool.scope([](evenkeel::Scope& s) { return s.spawn([] {}), std::string("done"); }) ==
          "done");

    const auto add = [](auto a, auto b) { return a + b; };
    CHECK(pool.map_reduce(-1'000, 1'001, 0L, add, add) == 0);
    CHECK(pool.map_reduce(std::uint8_t{250}, std::uint8_t{255}, 0, add, add) ==
          250 + 251 + 252 + 253 + 254);
    CHECK(pool.map_reduce(9, 3, 17, add, add) == 17);
    const auto longer = [](std::string s, int) { return s + 'x'; };
    CHECK(pool.map_reduce(3, 3, std::string("none"), longer, add) == "none");
    const auto letters = pool.map_reduce(0, 5'000, std::string(), longer, add);
    CHECK(letters == std::string(5'000, 'x'));
    if (pool.workers() > 1) {
        CHECK(on_two_workers(pool, 0, add, add) == 3);
        CHECK(on_two_workers(pool, std::string(), longer, add) == "xx");
    }
    std::vector<int> values(10'000, 2);
    pool.for_each(values.begin(), values.end(), [](int& it) { it *= 3; });
    CHECK(pool.over(values.begin(), values.end()).schedule("guided").map_reduce(0, add, add) ==
          60'000);
    std::atomic<std::size_t> length{0};
    pool.for_each_chunk(std::size_t{10}, values.size(),
                        [&](std::size_t begin, std::size_t end) { length += end - begin; });
    CHECK(length == 9'990);
}

void the_first_value_of_a_loop_ends_it(const evenkeel::Pool& pool) {
    using Found = std::optional<std::string>;
    std::atomic<int> calls{0};
    const auto at = [&](int number) {
        return [&calls, number](int i) {
            return ++calls, i == number ? Found(std::to_string(i)) : std::nullopt;
        };
    };
    CHECK(pool.try_for_each(0, 1'000, at(1'000)) == std::nullopt && calls == 1'000);
    calls = 0;
    // One iteration at a time: the rest of a longer part would be left out in any case.
    CHECK(pool.over(0, 1'000'000).schedule("dynamic,1").try_for_each(at(500)) == "500" &&
          calls < 1'000'000);
    CHECK(pool.try_for_each(9, 3, at(5)) == std::nullopt);
    // Of many, one; by elements, which may be changed; of what cannot be copied.
    std::vector<int> values(10'000, 2);
    const auto all = pool.try_for_each(values.begin(), values.end(),
                                       [](int& it) { return std::optional(++it); });
    CHECK(all == 3);
    CHECK(**pool.try_for_each(0, 100,
                              [](int i) { return std::optional(std::make_unique<int>(i)); }) < 100);
    CHECK(
        pool.try_for_each(
                0, 100, [](int i) { return i == 50 ? std::optional<Live>(Live()) : std::nullopt; })
            .has_value());
    CHECK(Live::count == 0);

    // An exception counts for more: it is thrown whatever else was found.
    const auto both = [](int i) -> std::optional<int> { return i % 2 ? throw Thrown(i) : i; };
    for (int round = 0; round < 100; ++round) {
        std::optional<int> found;
        const auto thrown =
            thrown_by([&] { found = pool.over(0, 8).schedule("dynamic,1").try_for_each(both); });
        CHECK(thrown ? *thrown % 2 == 1 && !found : found && *found % 2 == 0);
    }
    CHECK(pool.map_reduce(
              0, 10, 0, [](int sum, int i) { return sum + i; },
              [](int a, int b) { return a + b; }) == 45);
    CHECK(Live::count == 0);
}

void what_cannot_be_done_is_an_error(const evenkeel::Pool& pool) {
    const auto error = [](auto f) {
        try {
            f();
        } catch (const evenkeel::Error& it) {
            return std::string(it.what());
        }
        return std::string();
    };
    CHECK(error([] { evenkeel::Pool(evenkeel::Options().workers(0)); }).find("0 workers") !=
          std::string::npos);
    CHECK(error([&] { pool.over(0, 9).schedule("nosuch").for_each([](int) {}); }).find("nosuch") !=
          std::string::npos);
    // On another thread; the error comes out of the task, and so out of the scope.
    evenkeel::Handle handle;
    std::string elsewhere;
    pool.scope([&](evenkeel::Scope& s) {
        std::thread([&] {
            elsewhere = error([&] { s.task().updates(handle).run([] {}); });
        }).join();
    });
    CHECK(elsewhere.find("thread that opened its scope") != std::string::npos);
    // One that was begun here, and is to be created or dropped there.
    pool.scope([&](evenkeel::Scope& s) {
        auto task = s.task();
        std::thread([&] { elsewhere = error([&] { task.run([live = Live()] {}); }); }).join();
        std::thread([dropped = s.task()] {}).join();
    });
    CHECK(elsewhere.find("thread that opened its scope") != std::string::npos && Live::count == 0);
    // Whose closure cannot be made: it is as it was.
    struct Throws {
        Throws() = default;
        Throws(const Throws&) { throw Thrown(3); }
        void operator()() const {}
    };
    pool.scope([&](evenkeel::Scope& s) {
        const Throws throws;
        auto task = s.task();
        CHECK(thrown_by([&] { task.run(throws); }) == 3);
        task.run([] {});
    });

    std::atomic<int> run{0};
    pool.scope([&](evenkeel::Scope& s) {
        s.cancel();
        CHECK(s.is_cancelled());
        for (int i = 0; i < 100; ++i) s.spawn([&, live = Live()] { ++run; });
        // Said and not created; created and said again.
        s.task().reads(handle);
        auto task = s.task();
        task.run([] {});
        CHECK(error([&] { task.run([] {}); }).find("created already") != std::string::npos);
    });
    CHECK(run == 0 && Live::count == 0);
}

void many_threads_use_one_pool(const evenkeel::Pool& pool) {
    std::vector<std::thread> threads;
    std::atomic<long> sum{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int round = 0; round < 50; ++round)
                pool.for_each(0, 100, [&](int i) { sum += i; });
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(sum == 4 * 50 * 4'950);
}

}  // namespace

int main() {
    const evenkeel::Pool here;
    CHECK(here.workers() >= 1 && here.kinds().at(0).capacity == 1024);
    for (std::size_t workers = 1; workers <= 4; ++workers) {
        const evenkeel::Pool pool(
            evenkeel::Options().workers(workers).policy("steal").pin(false).lend(false));
        CHECK(pool.workers() == workers);
        exceptions_of_any_tasks_arrive_once_and_nothing_leaks(pool);
        exceptions_come_out_of_every_call(pool);
        a_graph_that_threw_runs_again(pool);
        closures_of_any_kind_arrive_whole(pool);
        results_come_back(pool);
        the_first_value_of_a_loop_ends_it(pool);
        what_cannot_be_done_is_an_error(pool);
        many_threads_use_one_pool(pool);
    }
    std::puts("all so");
}
