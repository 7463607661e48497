// Loops. Included by evenkeel.hpp.
#ifndef EVENKEEL_LOOPS_HPP
#define EVENKEEL_LOOPS_HPP

#include "calls.hpp"

#include <atomic>
#include <cstddef>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace evenkeel {

/// A loop over whole numbers or the elements of random-access iterators, with options to set before
/// it begins: see Pool::over.
template <class I>
class Over {
public:
    /// Sets its schedule, in place of the pool's: see Options::schedule.
    Over& schedule(std::string schedule) {
        schedule_ = std::move(schedule);
        return *this;
    }

    /// Sets its name. Traces show it, and the costs of iterations are learnt together for all loops
    /// of a name.
    Over& label(std::string name) {
        label_ = std::move(name);
        return *this;
    }

    /// Calls `f` with each number, or each element, on all cores at once, and returns when all
    /// calls have returned.
    template <class F>
    void for_each(F&& f) const {
        for_each_chunk([&f](I begin, I end) { each(begin, end, f); });
    }

    /// Calls `f(begin, end)` with parts of the range, each as long as is handed out at a time.
    template <class F>
    void for_each_chunk(F&& f) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            F& f;
        } call{{}, *this, f};
        const auto chunk = [](std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            return call.failure.guard([&] { call.f(call.over.at(begin), call.over.at(end)); });
        };
        call.failure.rethrow(
            evenkeel_for_labelled(pool_, label(), 0, count(), schedule(), chunk, &call));
    }

    /// As for_each(), for an `f` that returns a std::optional: the first result, by time and not by
    /// number, that is not empty ends the loop and is returned. Parts that have not been handed out
    /// by then are left out. It serves for errors, and for searches. An exception takes precedence.
    template <class F>
    auto try_for_each(F&& f) const {
        using First = std::decay_t<std::invoke_result_t<F&, decltype(item(std::declval<I&>()))>>;
        struct Call {
            detail::Failure failure;
            const Over& over;
            F& f;
            std::atomic<bool> has_ended{false};
            First first;
        } call{{}, *this, f, {}, {}};
        const auto chunk = [](std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            bool ends = false;
            const int code = call.failure.guard([&] {
                const I last = call.over.at(end);
                for (I it = call.over.at(begin); it < last && !ends; ++it) {
                    auto found = call.f(item(it));
                    ends = found.has_value();
                    if (ends && !call.has_ended.exchange(true)) call.first = std::move(found);
                }
            });
            return ends ? 1 : code;
        };
        call.failure.rethrow(
            evenkeel_for_labelled(pool_, label(), 0, count(), schedule(), chunk, &call));
        return std::move(call.first);
    }

    /// A reduction. Each worker begins with `identity`, the neutral element, and replaces its value
    /// by `map(value, i)` for each of its numbers or elements; `reduce(value, value)` combines the
    /// workers' values, in any order.
    template <class T, class Map, class Reduce>
    T map_reduce(T identity, Map map, Reduce reduce) const {
        if constexpr (std::is_trivially_copyable_v<T> && alignof(T) <= 64) {
            return reduce_in_place(std::move(identity), map, reduce);
        } else {
            return reduce_on_heap(std::move(identity), map, reduce);
        }
    }

private:
    friend class Pool;
    Over(const evenkeel_pool* pool, I begin, I end) : pool_(pool), begin_(begin), end_(end) {}

    std::size_t count() const {
        if (!(begin_ < end_)) return 0;
        if constexpr (std::is_integral_v<I>) {
            return static_cast<std::size_t>(end_) - static_cast<std::size_t>(begin_);
        } else {
            return static_cast<std::size_t>(end_ - begin_);
        }
    }
    const char* schedule() const { return schedule_ ? schedule_->c_str() : nullptr; }
    const char* label() const { return label_ ? label_->c_str() : nullptr; }

    I at(std::size_t offset) const {
        if constexpr (std::is_integral_v<I>) {
            return static_cast<I>(static_cast<std::size_t>(begin_) + offset);
        } else {
            return begin_ + static_cast<typename std::iterator_traits<I>::difference_type>(offset);
        }
    }

    /// The number, or the element.
    static decltype(auto) item(I& at) {
        if constexpr (std::is_integral_v<I>) {
            return (at);
        } else {
            return *at;
        }
    }

    template <class F>
    static void each(I begin, I end, F&& f) {
        for (; begin < end; ++begin) f(item(begin));
    }

    template <class T, class Map>
    T fold(T value, std::size_t begin, std::size_t end, Map& map) const {
        each(at(begin), at(end),
             [&](auto&& it) { value = map(std::move(value), std::forward<decltype(it)>(it)); });
        return value;
    }

    template <class T, class Map, class Reduce>
    T reduce_in_place(T value, Map& map, Reduce& reduce) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            Map& map;
            Reduce& reduce;
        } call{{}, *this, map, reduce};
        const auto fold = [](void* value, std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T*>(value);
            return call.failure.guard([&] { own = call.over.fold(own, begin, end, call.map); });
        };
        const auto combine = [](void* into, void* from, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T*>(into);
            return call.failure.guard([&] { own = call.reduce(own, *static_cast<T*>(from)); });
        };
        call.failure.rethrow(evenkeel_reduce_labelled(pool_, label(), 0, count(), schedule(),
                                                      &value, sizeof value, fold, combine, &call));
        return value;
    }

    /// Each worker has a pointer to a value that the caller owns; it is null before the first part.
    template <class T, class Map, class Reduce>
    T reduce_on_heap(T identity, Map& map, Reduce& reduce) const {
        struct Call {
            detail::Failure failure;
            const Over& over;
            Map& map;
            Reduce& reduce;
            const T& identity;
            std::mutex mutex;
            std::list<T> values;
        } call{{}, *this, map, reduce, identity, {}, {}};
        const auto fold = [](void* value, std::size_t begin, std::size_t end, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto& own = *static_cast<T**>(value);
            return call.failure.guard([&] {
                if (own == nullptr) {
                    const std::lock_guard<std::mutex> lock(call.mutex);
                    own = &call.values.emplace_back(call.identity);
                }
                *own = call.over.fold(std::move(*own), begin, end, call.map);
            });
        };
        const auto combine = [](void* into, void* from, void* data) noexcept {
            auto& call = *static_cast<Call*>(data);
            auto*& own = *static_cast<T**>(into);
            auto* other = *static_cast<T**>(from);
            return call.failure.guard([&] {
                if (own == nullptr || other == nullptr) {
                    own = own == nullptr ? other : own;
                } else {
                    *own = call.reduce(std::move(*own), std::move(*other));
                }
            });
        };
        T* value = nullptr;
        call.failure.rethrow(evenkeel_reduce_labelled(pool_, label(), 0, count(), schedule(),
                                                      &value, sizeof value, fold, combine, &call));
        return value == nullptr ? std::move(identity) : std::move(*value);
    }

    const evenkeel_pool* pool_;
    I begin_, end_;
    std::optional<std::string> schedule_, label_;
};

}  // namespace evenkeel

#endif  // EVENKEEL_LOOPS_HPP
