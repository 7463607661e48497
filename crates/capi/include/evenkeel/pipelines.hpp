// Pipelines. Included by evenkeel.hpp.
#ifndef EVENKEEL_PIPELINES_HPP
#define EVENKEEL_PIPELINES_HPP

#include "calls.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace evenkeel {

namespace detail {

/// The output of a stage that returns nothing.
struct Nothing {};

template <class R>
using Out = std::conditional_t<std::is_void_v<R>, Nothing, std::decay_t<R>>;

/// One item of a pipeline, which has one of these types after the other.
template <class... Types>
class Slot {
public:
    Slot() = default;
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() { clear(); }

    template <class T>
    T& get() {
        return *std::launder(reinterpret_cast<T*>(bytes_));
    }
    template <class T>
    void put(T&& value) {
        clear();
        ::new (static_cast<void*>(bytes_)) T(std::move(value));
        destroy_ = [](void* bytes) noexcept { std::launder(static_cast<T*>(bytes))->~T(); };
    }

    static void release(void* slot) noexcept { delete static_cast<Slot*>(slot); }

private:
    void clear() noexcept {
        if (auto* destroy = std::exchange(destroy_, nullptr)) destroy(bytes_);
    }
    alignas(Types...) unsigned char bytes_[std::max({sizeof(Types)...})];
    void (*destroy_)(void*) noexcept = nullptr;
};

template <class F>
struct SerialStage {
    static constexpr auto add = evenkeel_pipeline_serial;
    F f;
    std::string label;
};

template <class F>
struct ParallelStage {
    static constexpr auto add = evenkeel_pipeline_parallel;
    F f;
    std::string label;
};

}  // namespace detail

/// A pipeline: items from a source go through stages, see Pool::pipeline. `Types` are those of the
/// items, from the source on.
template <class Source, class Types, class Stages>
class Pipeline;

template <class Source, class... Types, class... Stages>
class Pipeline<Source, std::tuple<Types...>, std::tuple<Stages...>> {
public:
    /// Adds a stage that takes one item at a time, in the order of the source.
    template <class F>
    auto serial(F f) {
        return with(detail::SerialStage<F>{std::move(f), {}});
    }
    /// Adds a stage that takes any number of items at a time, in any order.
    template <class F>
    auto parallel(F f) {
        return with(detail::ParallelStage<F>{std::move(f), {}});
    }
    /// Names the stage that was added last. Traces show the name, and costs are learnt under it.
    Pipeline& label(std::string name) {
        static_assert(sizeof...(Stages) > 0, "a stage is named after it was added");
        std::get<sizeof...(Stages) - 1>(stages_).label = std::move(name);
        return *this;
    }
    /// Sets the most items that are under way at a time (0 counts as 1). The default is four for
    /// each worker, and more if cores are unequal.
    Pipeline& in_flight(std::size_t items) {
        in_flight_ = items;
        return *this;
    }
    /// Runs until the source returns nothing and all items have left the last stage. If the source
    /// or a stage throws, the source is not called any more, and items under way are destroyed.
    void run() { run(std::index_sequence_for<Stages...>()); }

private:
    friend class Pool;
    template <class, class, class>
    friend class Pipeline;
    using Slot = detail::Slot<Types...>;

    Pipeline(const evenkeel_pool* pool, Source source, std::tuple<Stages...> stages,
             std::optional<std::size_t> in_flight)
        : pool_(pool),
          source_(std::move(source)),
          stages_(std::move(stages)),
          in_flight_(in_flight) {}

    template <class Stage>
    auto with(Stage stage) {
        using Last = std::tuple_element_t<sizeof...(Types) - 1, std::tuple<Types...>>;
        using Out = detail::Out<std::invoke_result_t<decltype(Stage::f)&, Last&&>>;
        using Longer = Pipeline<Source, std::tuple<Types..., Out>, std::tuple<Stages..., Stage>>;
        auto stages = std::tuple_cat(std::move(stages_), std::tuple<Stage>(std::move(stage)));
        return Longer(pool_, std::move(source_), std::move(stages), in_flight_);
    }

    template <std::size_t... I>
    void run(std::index_sequence<I...>) {
        detail::Owned<evenkeel_pipeline, evenkeel_pipeline_drop> pipeline(
            detail::made(evenkeel_pipeline_new(pool_, next, this, Slot::release)));
        (add<I>(pipeline.get()), ...);
        if (in_flight_) evenkeel_pipeline_in_flight(pipeline.get(), *in_flight_);
        failure_.rethrow(evenkeel_pipeline_run(pipeline.release()));
    }

    template <std::size_t I>
    void add(evenkeel_pipeline* pipeline) {
        auto& stage = std::get<I>(stages_);
        detail::check(stage.add(pipeline, step<I>, this));
        if (!stage.label.empty())
            detail::check(evenkeel_pipeline_label(pipeline, stage.label.c_str()));
    }

    static int next(void** item, void* data) noexcept {
        auto& self = *static_cast<Pipeline*>(data);
        return self.failure_.guard([&] {
            if (auto value = self.source_()) {
                auto slot = std::make_unique<Slot>();
                slot->put(std::move(*value));
                *item = slot.release();
            }
        });
    }

    template <std::size_t I>
    static int step(void** item, void* data) noexcept {
        using In = std::tuple_element_t<I, std::tuple<Types...>>;
        using Out = std::tuple_element_t<I + 1, std::tuple<Types...>>;
        auto& self = *static_cast<Pipeline*>(data);
        auto& slot = *static_cast<Slot*>(*item);
        return self.failure_.guard([&] {
            auto& f = std::get<I>(self.stages_).f;
            if constexpr (std::is_same_v<Out, detail::Nothing>) {
                f(std::move(slot.template get<In>()));
                slot.put(Out());
            } else {
                Out out = f(std::move(slot.template get<In>()));
                slot.put(std::move(out));
            }
        });
    }

    const evenkeel_pool* pool_;
    Source source_;
    std::tuple<Stages...> stages_;
    std::optional<std::size_t> in_flight_;
    detail::Failure failure_;
};

}  // namespace evenkeel

#endif  // EVENKEEL_PIPELINES_HPP
