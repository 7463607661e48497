"""Reads a trace back with Perfetto's own protobuf definitions and checks that it hangs together.

Usage: perfetto_readback.py TRACE ["CORE TRACK=BUSY NANOSECONDS"...]

Given totals must be those of the slices on the tracks of these names. Exit 0: it does; 1: it does not, stderr says where.
"""

import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent


def main(path, totals):
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    assert trace.packet, "the trace is empty"
    assert not list(unknown(trace)), f"fields that Perfetto does not know: {list(unknown(trace))[:5]}"

    clocks, tracks, names = {}, {}, {}
    default_clock = None
    busy, opened = defaultdict(int), {}
    flows, counters = {}, defaultdict(list)
    slices = arrows = 0
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id, "a packet without a sequence"
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            default_clock = packet.trace_packet_defaults.timestamp_clock_id
            clocks = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
            assert clocks[default_clock].is_incremental
            now = clocks[default_clock].timestamp
            names = {}
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in tracks, f"track {track.uuid} twice"
            assert not track.HasField("parent_uuid") or track.parent_uuid in tracks, f"{track.name} has no parent"
            tracks[track.uuid] = track
        if not packet.HasField("track_event"):
            continue
        assert packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE
        now += packet.timestamp
        event = packet.track_event
        track = tracks[event.track_uuid]
        if event.type == TrackEvent.TYPE_COUNTER:
            assert track.HasField("counter"), f"{track.name} is no counter"
            value = event.counter_value if event.HasField("counter_value") else event.double_counter_value
            counters[event.track_uuid].append((now, value))
        elif event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in opened, f"{track.name} runs two threads at {now}"
            assert names[event.name_iid]
            opened[event.track_uuid] = now
        elif event.type == TrackEvent.TYPE_SLICE_END:
            busy[track.name] += now - opened.pop(event.track_uuid)
            slices += 1
        elif event.type == TrackEvent.TYPE_INSTANT:
            assert event.track_uuid in opened, f"a wake-up from {track.name}, which runs nothing at {now}"
        assert len(event.extra_counter_values) == len(event.extra_counter_track_uuids)
        for uuid, value in zip(event.extra_counter_track_uuids, event.extra_counter_values):
            assert tracks[uuid].HasField("counter")
            counters[uuid].append((now, value))
        for flow in event.flow_ids:
            assert flow not in flows, f"arrow {flow} starts twice"
            flows[flow] = (now, event.name_iid)
        for flow in event.terminating_flow_ids:
            start, woken = flows.pop(flow)
            assert start <= now and woken == event.name_iid, f"arrow {flow} leads elsewhere"
            assert event.type == TrackEvent.TYPE_SLICE_BEGIN
            arrows += 1

    assert not opened, "slices that do not end"
    assert not flows, "arrows that do not end"
    for uuid, values in counters.items():
        name = tracks[uuid].name
        assert all(a[0] <= b[0] for a, b in zip(values, values[1:])), f"{name} goes back in time"
        if name.startswith("work of "):
            assert all(a[1] <= b[1] for a, b in zip(values, values[1:])), f"{name} falls"
    for total in totals:
        name, _, nanoseconds = total.rpartition("=")
        assert busy[name] == int(nanoseconds), f"{name} is busy for {busy[name]} ns, not {nanoseconds}"
    groups = [track for track in tracks.values() if track.child_ordering == TrackDescriptor.EXPLICIT]
    assert groups and any(track.name.startswith("core ") for track in tracks.values())
    print(f"{len(trace.packet)} packets, {len(tracks)} tracks, {slices} slices, {arrows} arrows, {len(counters)} counters")


def unknown(message, path=""):
    """Paths of fields that the definitions do not have."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    for field in UnknownFieldSet(message):
        yield f"{path}#{field.field_number}"
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for item in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
            yield from unknown(item, f"{path}.{field.name}")


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
