# SPDX-License-Identifier: BSD-3-Clause
"""From Babeltrace's messages to event tuples.

By the documented Python interface an event costs more than 10 us: each field becomes objects. The functions
beneath it, which have the names of Babeltrace's C interface, do the same in a fifth of the time. They are not
documented, so each class of event is decoded both ways once, and the fast way is left for good when the two
differ.
"""

from __future__ import annotations

from typing import Any, Callable

import bt2

from nrbench.trace.events import KINDS, Event, Kind

Decode = Callable[[Any], "Event | None"]
MAX_ID = 2**63


class NoContext(Exception):
    """The events do not say which thread they are of."""


def plain(message: Any) -> Event | None:
    """By the documented interface; None = an event that nobody needs."""
    event = message.event
    kind = KINDS.get(event.name)
    if kind is None:
        return None
    context, payload = event.common_context_field, event.payload_field
    if context is None or "vtid" not in context or "vpid" not in context:
        raise NoContext
    head = (kind.number, message.default_clock_snapshot.value, int(context["vpid"]), int(context["vtid"]))
    phase = () if kind.phase is None else (kind.phase,)
    return (*head, *phase, *(_value(payload[name]) for name in kind.fields))


def _value(field: Any) -> int | str:
    return str(field) if isinstance(field, bt2._StringFieldConst) else int(field)


def _index(field_class: Any, name: str) -> int:
    return list(field_class).index(name)


class Fast:
    """By the functions beneath; a plan for each class of events, told by the address of the class."""

    def __init__(self) -> None:
        from bt2 import native_bt  # its absence is told by the caller

        self.native = native_bt
        self.plans: dict[int, Decode | None] = {}
        self.classes: list[Any] = []  # keeps their addresses from being used again
        self.event = native_bt.message_event_borrow_event_const
        self.event_class = native_bt.event_borrow_class_const

    def __call__(self, message: Any) -> Event | None:
        event = self.event(message._ptr)
        address = int(self.event_class(event))
        try:
            plan = self.plans[address]
        except KeyError:
            plan = self._learn(address, message)
            if plan is not None and plan(message) != plain(message):
                raise ValueError("the fast way reads something else") from None
        return None if plan is None else plan(message)

    def _learn(self, address: int, message: Any) -> Decode | None:
        event = message.event
        self.classes.append(event.cls)
        kind = KINDS.get(event.name)
        plan = None
        if kind is not None:
            plain(message)  # says what is missing
            plan = self._plan(kind, event)
        self.plans[address] = plan
        return plan

    def _getter(self, field: Any) -> Any:
        native = self.native
        if isinstance(field, bt2._StringFieldConst):
            return native.field_string_get_value
        if isinstance(field, bt2._SignedIntegerFieldConst):
            return native.field_integer_signed_get_value
        return native.field_integer_unsigned_get_value

    def _plan(self, kind: Kind, event: Any) -> Decode:
        native, borrow_event = self.native, self.event
        clock, clock_value = (
            native.message_event_borrow_default_clock_snapshot_const,
            native.clock_snapshot_get_value,
        )
        context_of, payload_of = (
            native.event_borrow_common_context_field_const,
            native.event_borrow_payload_field_const,
        )
        member, signed = (
            native.field_structure_borrow_member_field_by_index_const,
            native.field_integer_signed_get_value,
        )
        context, payload = event.common_context_field, event.payload_field
        pid_at, tid_at = _index(context, "vpid"), _index(context, "vtid")
        parts = tuple((_index(payload, name), self._getter(payload[name])) for name in kind.fields)
        number, phase = kind.number, () if kind.phase is None else (kind.phase,)

        def decode(message: Any) -> Event:
            pointer = message._ptr
            event = borrow_event(pointer)
            context, payload = context_of(event), payload_of(event)
            return (
                number,
                clock_value(clock(pointer)),
                signed(member(context, pid_at)),
                signed(member(context, tid_at)),
                *phase,
                *[get(member(payload, at)) for at, get in parts],
            )

        return decode


class Decoder:
    """The fast way while it works, else the documented one."""

    def __init__(self, fast: bool = True) -> None:
        self.is_fast = fast
        self._decode: Decode = plain
        if fast:
            try:
                self._decode = Fast()
            except (ImportError, AttributeError):
                self.is_fast = False

    def __call__(self, message: Any) -> Event | None:
        if not self.is_fast:
            return plain(message)
        try:
            return self._decode(message)
        except (AttributeError, TypeError, ValueError):
            self.is_fast = False
            return plain(message)
