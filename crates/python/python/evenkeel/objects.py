"""Objects of an application that its threads share, and the steps that they give.

An `App` makes them. Each belongs to that application alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from ._check import U32, Whole, nanos, whole

if TYPE_CHECKING:
    from .app import App


class Step:
    """A step of a thread's program. `data` is what stands in a file, with objects in place of
    their numbers.

    >>> from evenkeel.app import App
    >>> App("pair").lock().acquire()
    Step({'lock': lock 0 of 'pair'})
    """

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"Step({self.data!r})"

    @staticmethod
    def many(steps: Iterable[Step]) -> tuple[Step, ...]:
        """These steps, if they are steps.

        >>> Step.many(["yield"])
        Traceback (most recent call last):
        TypeError: step 0: 'yield' found, expected a step, as compute(1000)
        """
        if isinstance(steps, Step):
            raise TypeError("one step found, expected a list of steps")
        found = tuple(steps)
        for place, step in enumerate(found):
            if not isinstance(step, Step):
                raise TypeError(f"step {place}: {step!r} found, expected a step, as compute(1000)")
        return found


class Object:
    """Something of an application that steps refer to by its number.

    >>> from evenkeel.app import App
    >>> app = App("pair")
    >>> [app.lock().number, app.lock().number]
    [0, 1]
    """

    __slots__ = ("app", "index")
    kind: ClassVar[str] = "object"

    def __init__(self, app: App, index: int) -> None:
        self.app = app
        self.index = index

    @property
    def number(self) -> int:
        """Its number in the file."""
        return self.index

    def number_in(self, app: App) -> int:
        """Its number, if it is of this application."""
        if self.app is not app:
            raise ValueError(
                f"{self.kind} {self.index} is of application '{self.app.name}', "
                f"not of '{app.name}'"
            )
        return self.number

    def __repr__(self) -> str:
        return f"{self.kind} {self.index} of '{self.app.name}'"


class Phase(Object):
    """The character of a piece of work: how fast it is on each kind of core.

    >>> from evenkeel.app import App, compute
    >>> shade = App("frames").phase("shade", factor=3.0)
    >>> compute(1000, shade)
    Step({'compute': {'work': 1000, 'phase': phase 0 of 'frames'}})
    """

    kind = "phase"


def phase_or_first(phase: Phase | None) -> Phase | int:
    """What a step says of its phase; without one it is the application's first.

    >>> phase_or_first(None)
    0
    """
    if phase is None:
        return 0
    if not isinstance(phase, Phase):
        raise TypeError(f"phase {phase!r} found, expected what App.phase returns, or None")
    return phase


def phase_number(app: App, phase: Phase | None) -> int:
    """The number of a phase of this application; without one that of its first.

    >>> from evenkeel.app import App
    >>> app = App("frames")
    >>> _, shade = app.phase("load"), app.phase("shade")
    >>> phase_number(app, shade)
    1
    """
    found = phase_or_first(phase)
    return found.number_in(app) if isinstance(found, Phase) else found


class Barrier(Object):
    """A point that threads leave together.

    >>> from evenkeel.app import App
    >>> App("pair").barrier(2).wait()
    Step({'barrier': barrier 0 of 'pair'})
    """

    kind = "barrier"

    def wait(self) -> Step:
        """Waits until as many threads have arrived as the barrier is for. A milestone."""
        return Step({"barrier": self})


class Lock(Object):
    """A mutex. Threads wait in line and sleep meanwhile.

    >>> from evenkeel.app import App, compute
    >>> lock = App("pair").lock()
    >>> critical = [lock.acquire(), compute(500), lock.release()]
    """

    kind = "lock"

    def acquire(self) -> Step:
        """Takes the lock, waiting in line."""
        return Step({"lock": self})

    def release(self) -> Step:
        """Releases the lock; the first in line gets it."""
        return Step({"unlock": self})


class Condition(Object):
    """A condition variable.

    >>> from evenkeel.app import App
    >>> app = App("pair")
    >>> app.condition().wait(app.lock())
    Step({'wait': {'condition': condition 0 of 'pair', 'lock': lock 0 of 'pair'}})
    """

    kind = "condition"

    def wait(self, lock: Lock | None = None) -> Step:
        """Releases the lock, waits for a signal, takes the lock again."""
        return Step({"wait": self._with(lock)})

    def signal(self) -> Step:
        """Wakes the first thread that waits, if there is one."""
        return Step({"signal": self})

    def broadcast(self) -> Step:
        """Wakes all threads that wait."""
        return Step({"broadcast": self})

    def signal_and_wait(self, lock: Lock | None = None) -> Step:
        """Signals, then waits for a signal itself."""
        return Step({"signal_and_wait": self._with(lock)})

    def _with(self, lock: Lock | None) -> dict[str, Object]:
        if lock is None:
            return {"condition": self}
        if not isinstance(lock, Lock):
            raise TypeError(f"lock {lock!r} found, expected what App.lock returns, or None")
        return {"condition": self, "lock": lock}


class Semaphore(Object):
    """A counting semaphore.

    >>> from evenkeel.app import App
    >>> App("pair").semaphore(1).wait()
    Step({'semaphore_wait': semaphore 0 of 'pair'})
    """

    kind = "semaphore"

    def post(self) -> Step:
        """Adds one."""
        return Step({"semaphore_post": self})

    def wait(self) -> Step:
        """Takes one, waiting while there is none."""
        return Step({"semaphore_wait": self})


class Channel(Object):
    """A bounded queue of items: a program's own, or a pipe.

    >>> from evenkeel.app import App, compute, forever
    >>> tickets = App("pool").channel(8)
    >>> worker = [forever([tickets.receive(), compute(1000)])]
    """

    kind = "channel"

    def send(self) -> Step:
        """Puts an item in, waiting while it is full."""
        return Step({"send": self})

    def receive(self) -> Step:
        """Takes an item out, waiting while it is empty. If the queue is closed and empty, the
        thread leaves its innermost loop."""
        return Step({"receive": self})

    def close(self, senders: Whole = 1) -> Step:
        """Declares that this thread sends no more. Once so many threads have declared it, the
        queue is closed."""
        return Step({"close": {"channel": self, "senders": whole("senders", senders, 1, U32)}})


class Timer(Object):
    """A periodic timer that threads share: each use advances it for all.

    >>> from evenkeel.app import App
    >>> App("frames").timer().wait(ms=16)
    Step({'timer': {'timer': timer 0 of 'frames', 'period_ns': 16000000}})
    """

    kind = "timer"

    def wait(
        self,
        *,
        ns: float | None = None,
        us: float | None = None,
        ms: float | None = None,
        s: float | None = None,
        absolute: bool = False,
    ) -> Step:
        """Waits for the next multiple of the period; no sleep if that is past.

        A thread that is late starts the next period there. With `absolute` it catches up.
        """
        data: dict[str, Any] = {"timer": self, "period_ns": nanos(ns=ns, us=us, ms=ms, s=s)}
        if absolute:
            data["absolute"] = True
        return Step({"timer": data})


class PrivateTimer(Timer):
    """A periodic timer that each thread has for itself.

    >>> from evenkeel.app import App
    >>> app = App("frames")
    >>> own, shared = app.private_timer(), app.timer()
    >>> (own.number, shared.number)
    (1, 0)
    """

    kind = "private timer"

    @property
    def number(self) -> int:
        """Its number in the file: private timers come after all shared ones."""
        return self.app.shared_timers + self.index


class Device(Object):
    """A device, as a disk: requests queue, first come, first served.

    >>> from evenkeel.app import App
    >>> App("server").device().request(us=80)
    Step({'io': {'device': device 0 of 'server', 'time_ns': 80000}})
    """

    kind = "device"

    def request(
        self,
        *,
        ns: float | None = None,
        us: float | None = None,
        ms: float | None = None,
        s: float | None = None,
    ) -> Step:
        """A request that the device serves in this time. The thread is off the core."""
        return Step({"io": {"device": self, "time_ns": nanos(ns=ns, us=us, ms=ms, s=s)}})


class Template(Object):
    """A thread that others start.

    >>> from evenkeel.app import App, compute, join_all
    >>> app = App("server")
    >>> child = app.template("child", [compute(1000)])
    >>> app.thread("main", [child.fork(), child.fork(), join_all()])
    """

    kind = "template"

    def fork(self) -> Step:
        """Starts such a thread."""
        return Step({"fork": self})


class ParallelLoop(Object):
    """A loop whose iterations threads share.

    >>> from evenkeel.app import App
    >>> app = App("pixels")
    >>> rows = app.parallel_loop(1080, 20_000, schedule="dynamic,4")
    >>> app.thread("worker", [rows.run()], count=4)
    """

    kind = "parallel loop"

    def run(self) -> Step:
        """Takes part until no iteration is left for this thread. No barrier at the end."""
        return Step({"parallel_for": self})
