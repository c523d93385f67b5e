# SPDX-License-Identifier: BSD-3-Clause
"""From Babeltrace's messages to event tuples.

By the documented Python interface an event costs more than 10 us, because each field becomes objects. The
functions beneath it, which have the names of Babeltrace's C interface, take a fifth of that. They are not
documented. Each class of events is therefore decoded both ways once, and when the fast way is missing or
differs, all later events are decoded by the documented interface.
"""

from __future__ import annotations

from typing import Any, Callable

import bt2

try:
    from bt2 import native_bt as native
except ImportError:
    native = None

from nrbench.trace.events import KINDS, Event, Kind, TraceError

Decode = Callable[[Any], Event]
NO_CONTEXT = (
    "the events do not name their threads; record with 'tpool-ws-trace record', or add the contexts:"
    " lttng add-context -u -t vpid -t vtid"
)


def _index(field_class: Any, name: str) -> int:
    return list(field_class).index(name)


def documented(message: Any) -> Event | None:
    """By the documented interface; None = an event that the report does not use."""
    event = message.event
    kind = KINDS.get(event.name)
    if kind is None:
        return None
    context = event.common_context_field
    if context is None or "vtid" not in context or "vpid" not in context:
        raise TraceError(NO_CONTEXT)
    head = (kind.number, message.default_clock_snapshot.value, int(context["vpid"]), int(context["vtid"]))
    phase = () if kind.phase is None else (kind.phase,)
    fields = (event.payload_field[name] for name in kind.fields)
    return (*head, *phase, *(str(f) if isinstance(f, bt2._StringFieldConst) else int(f) for f in fields))


def _getter(field: Any) -> Any:
    if isinstance(field, bt2._StringFieldConst):
        return native.field_string_get_value
    if isinstance(field, bt2._SignedIntegerFieldConst):
        return native.field_integer_signed_get_value
    return native.field_integer_unsigned_get_value


class Decoder:
    """Makes a decoder for each class of events. The address of the class is its key."""

    def __init__(self) -> None:
        self.is_fast = native is not None
        self._decoders: dict[int, Decode | None] = {}
        self._classes: list[Any] = []  # keeps their addresses from being used again

    def __call__(self, message: Any) -> Event | None:
        """None = an event that the report does not use."""
        if self.is_fast:
            try:
                return self._by_class(message)
            except (AttributeError, TypeError, ValueError):
                self.is_fast = False
        return documented(message)

    def _by_class(self, message: Any) -> Event | None:
        event = native.message_event_borrow_event_const(message._ptr)
        address = int(native.event_borrow_class_const(event))
        if address not in self._decoders:
            self._learn(address, message)
        decode = self._decoders[address]
        return None if decode is None else decode(message)

    def _learn(self, address: int, message: Any) -> None:
        self._classes.append(message.event.cls)
        expected = documented(message)
        decode = None if expected is None else _decoder(KINDS[message.event.name], message.event)
        if decode and decode(message) != expected:
            raise ValueError("the two ways differ")
        self._decoders[address] = decode


def _decoder(kind: Kind, event: Any) -> Decode:
    borrow_event = native.message_event_borrow_event_const
    clock = native.message_event_borrow_default_clock_snapshot_const
    clock_value = native.clock_snapshot_get_value
    context_of = native.event_borrow_common_context_field_const
    payload_of = native.event_borrow_payload_field_const
    member = native.field_structure_borrow_member_field_by_index_const
    signed = native.field_integer_signed_get_value
    context, payload = event.common_context_field, event.payload_field
    pid_at, tid_at = _index(context, "vpid"), _index(context, "vtid")
    parts = tuple((_index(payload, name), _getter(payload[name])) for name in kind.fields)
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
