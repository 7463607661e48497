"""Asks a trace questions in SQL.

Usage: perfetto_sql.py TRACE QUERY...

Prints the rows of each query as a JSON array, one a line. The tables are those of Perfetto's trace processor, as far as a trace of slices and flows fills them
(track, slice, args, flow), filled here by way of Perfetto's own protobuf definitions: its program is in no package registry.
Slices that do not nest, flows that do not end and tracks without parents are errors: exit 1, stderr says which.
"""

import json
import sqlite3
import sys
from collections import defaultdict

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

TABLES = """
    create table track (id integer primary key, name text, parent_id integer);
    create table slice (id integer primary key, ts integer, dur integer, track_id integer, name text, depth integer, parent_id integer);
    create table args (arg_set_id integer, key text, int_value integer);
    create table flow (id integer, slice_out integer, slice_in integer);
"""


class Sequence:
    """What packets of one sequence share."""

    def __init__(self, packet):
        self.clock = packet.trace_packet_defaults.timestamp_clock_id
        readings = {clock.clock_id: clock for clock in packet.clock_snapshot.clocks}
        assert readings[self.clock].is_incremental
        boot = [clock.timestamp for id, clock in readings.items() if id == 6]
        # From the sequence's clock to that on which a trace is drawn.
        self.now = readings[self.clock].timestamp
        self.offset = boot[0] - self.now
        self.names = {}


def load(path):
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    tables = sqlite3.connect(":memory:")
    tables.executescript(TABLES)
    sequences, tracks, slices, arguments = {}, {}, [], []
    opened, starts, flows = defaultdict(list), {}, []
    for packet in trace.packet:
        number = packet.trusted_packet_sequence_id
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            assert number not in sequences, f"sequence {number} begins twice"
            sequences[number] = Sequence(packet)
        sequence = sequences[number]
        sequence.names.update((name.iid, name.name) for name in packet.interned_data.event_names)
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            parent = track.parent_uuid if track.HasField("parent_uuid") else None
            assert track.uuid not in tracks, f"track {track.uuid} twice"
            assert parent is None or parent in tracks, f"{track.name} has no parent"
            tracks[track.uuid] = (track.uuid, track.name, parent)
        if not packet.HasField("track_event"):
            continue
        sequence.now += packet.timestamp
        event, at = packet.track_event, sequence.now + sequence.offset
        stack = opened[event.track_uuid]
        assert event.track_uuid in tracks
        if event.type == TrackEvent.TYPE_SLICE_END:
            slice = slices[stack.pop()]
            slice[2] = at - slice[1]
            continue
        assert event.type in (TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_INSTANT)
        id = len(slices)
        slices.append([id, at, 0, event.track_uuid, sequence.names[event.name_iid], len(stack), stack[-1] if stack else None])
        arguments += [(id, f"debug.{it.name}", it.int_value) for it in event.debug_annotations]
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(id)
        for flow in event.flow_ids:
            assert flow not in starts, f"flow {flow} starts twice"
            starts[flow] = id
        flows += [(flow, starts.pop(flow), id) for flow in event.terminating_flow_ids]
    assert not any(opened.values()), "slices that do not end"
    assert not starts, "flows that do not end"
    tables.executemany("insert into track values (?, ?, ?)", tracks.values())
    tables.executemany("insert into slice values (?, ?, ?, ?, ?, ?, ?)", slices)
    tables.executemany("insert into args values (?, ?, ?)", arguments)
    tables.executemany("insert into flow values (?, ?, ?)", flows)
    tables.executescript("create index by_set on args (arg_set_id); create index by_end on flow (slice_in);")
    return tables


if __name__ == "__main__":
    try:
        tables = load(sys.argv[1])
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    for query in sys.argv[2:]:
        print(json.dumps(tables.execute(query).fetchall()))
