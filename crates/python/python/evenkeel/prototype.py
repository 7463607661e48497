"""Policies written in Python, for trying an idea before it is written in Rust."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._evenkeel import Event, Say, View


class Prototype:
    """A policy whose rule is Python's: the contract that policies in Rust have, and slow.

    A policy is told events, looks at a view, which is a copy, and answers with directives.

    >>> import evenkeel as ek
    >>> class Fifo(ek.Prototype):
    ...     '''One queue for all cores, in order of arrival.'''
    ...     def start(self, view, say):
    ...         self.queue = say.make_queue()
    ...         for core in view.online():
    ...             say.serve(core, [[self.queue]])
    ...     def event(self, event, view, say):
    ...         if event.kind == "started":
    ...             say.assign(event.thread, self.queue)
    ...             say.order_arrival(event.thread)
    ...             say.slice(event.thread, ns=4_000_000)
    >>> ek.simulate("quickia", ["mcf", "gobmk"], Fifo(), size=0.01).policy
    'Fifo'
    """

    #: Its name in results; that of the class if it is None.
    name: str | None = None
    #: Events beside starts, ends, timers and cores that come and go ("woke", "blocked",
    #: "milestone", "critical_section", "picked", "slice_used", "core_idle"), and statistics that
    #: cost something ("load", "clock", "distance", "stalled", "profile", "progress", "ran",
    #: "utilisation").
    interest: Iterable[str] = ()

    def start(self, view: View, say: Say) -> None:
        """Before any thread runs: makes queues and says which core serves which."""

    def event(self, event: Event, view: View, say: Say) -> None:
        """At each event. `view` is a copy: it stays as it is when time goes on."""
        raise NotImplementedError(f"{type(self).__name__} has no method event")
