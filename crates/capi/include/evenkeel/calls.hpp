// Calls: the closure on its way to a worker, its result, and its exceptions.
// Included by evenkeel.hpp.
#ifndef EVENKEEL_CALLS_HPP
#define EVENKEEL_CALLS_HPP

#include "../evenkeel.h"

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace evenkeel {

/// A failure of evenkeel itself, with its reason.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

namespace detail {

[[noreturn]] inline void fail() { throw Error(evenkeel_error()); }

inline void check(int code) {
    if (code != 0) fail();
}

template <auto drop>
struct Drop {
    template <class T>
    void operator()(T* it) const noexcept {
        drop(it);
    }
};

/// An object that the C interface has made and takes back.
template <class T, auto drop>
using Owned = std::unique_ptr<T, Drop<drop>>;

template <class T>
T* made(T* it) {
    if (it == nullptr) fail();
    return it;
}

/// The first exception of functions that run at the same time.
class Failure {
public:
    /// Calls a function for the C interface: 0, or 1 if it threw.
    template <class F>
    int guard(F&& f) noexcept {
        try {
            f();
            return 0;
        } catch (...) {
            if (!is_taken_.exchange(true)) first_ = std::current_exception();
            return 1;
        }
    }

    /// Called when all of them have ended, with this code. Rethrows.
    void rethrow(int code) {
        if (code == EVENKEEL_ERROR) fail();
        if (!is_taken_.exchange(false)) return;
        std::rethrow_exception(std::exchange(first_, nullptr));
    }

private:
    std::atomic<bool> is_taken_{false};
    std::exception_ptr first_;
};

/// A closure, and the receiver of its exceptions.
template <class F>
struct Guarded {
    Failure* failure;
    F f;

    static int run(void* data) noexcept {
        auto& self = *static_cast<Guarded*>(data);
        return self.failure->guard(self.f);
    }

    static void release(void* data) noexcept { delete static_cast<Guarded*>(data); }
};

template <class F>
Guarded<std::decay_t<F>> guarded(Failure& failure, F&& f) {
    return {&failure, std::forward<F>(f)};
}

/// Passes a closure on, by `copy` if copying its bytes is enough, else by `own`.
template <class F, class Copy, class Own>
void give(Failure& failure, F&& f, Copy copy, Own own) {
    using Closure = Guarded<std::decay_t<F>>;
    if constexpr (std::is_trivially_copyable_v<Closure> && sizeof(Closure) <= 160 &&
                  alignof(Closure) <= 16) {
        const Closure closure{&failure, std::forward<F>(f)};
        check(copy(&Closure::run, &closure, sizeof closure));
    } else {
        check(own(&Closure::run, new Closure{&failure, std::forward<F>(f)}, &Closure::release));
    }
}

/// The result of a function that runs on another thread.
template <class R>
class Result {
public:
    template <class F>
    void of(F&& f) {
        value_.emplace(f());
    }
    R take() { return std::move(*value_); }

private:
    std::optional<R> value_;
};

template <class R>
class Result<R&> {
public:
    template <class F>
    void of(F&& f) {
        value_ = &f();
    }
    R& take() { return *value_; }

private:
    R* value_ = nullptr;
};

template <>
class Result<void> {
public:
    template <class F>
    void of(F&& f) {
        f();
    }
    void take() {}
};

}  // namespace detail

}  // namespace evenkeel

#endif  // EVENKEEL_CALLS_HPP
