//! Writing one sequence of packets.

use std::io::{Result, Write};

use evenkeel_machine::Nanos;

use crate::proto::{
    BOOTTIME, Clock, ClockSnapshot, CounterDescriptor, EventName, InternedData, NEEDS_STATE,
    ORDER_EXPLICIT, STATE_CLEARED, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
};

/// The sequence's own clock; 64 is the first number that is free for one.
const RUN_CLOCK: u32 = 64;
/// Tracks and flows of a sequence have numbers from a range of so many bits, which is no other's.
const RANGE_BITS: u32 = 32;

/// A sequence of packets that is being written. Tell a writer that buffers: packets are small.
pub struct Sequence<W> {
    out: W,
    number: u32,
    /// The time of the last packet.
    now: Nanos,
    tracks: u64,
    flows: u64,
    names: u64,
    /// Names that the next event brings along.
    new_names: Vec<EventName>,
    packet: Vec<u8>,
}

impl<W: Write> Sequence<W> {
    /// Begins sequence `number`, from 1: unlike that of any other in the file. Its clock shows 0
    /// when that of the system's `CLOCK_BOOTTIME` shows `boot`.
    ///
    /// # Errors
    /// Where the writer fails. So it is with all that follows.
    pub fn begin(out: W, number: u32, boot: Nanos) -> Result<Self> {
        let first = u64::from(number.saturating_sub(1)) << RANGE_BITS;
        let (now, new_names, packet) = (Nanos::ZERO, vec![], vec![]);
        let mut sequence =
            Self { out, number, now, tracks: first, flows: first, names: 0, new_names, packet };
        let on_boot =
            Clock { clock_id: Some(BOOTTIME), timestamp: Some(boot.0), is_incremental: None };
        let on_run =
            Clock { clock_id: Some(RUN_CLOCK), timestamp: Some(0), is_incremental: Some(true) };
        sequence.put(TracePacket {
            timestamp: Some(boot.0),
            timestamp_clock_id: Some(BOOTTIME),
            sequence_flags: Some(STATE_CLEARED),
            trace_packet_defaults: Some(TracePacketDefaults {
                timestamp_clock_id: Some(RUN_CLOCK),
            }),
            clock_snapshot: Some(ClockSnapshot { clocks: vec![on_boot, on_run] }),
            ..TracePacket::default()
        })?;
        Ok(sequence)
    }

    /// A track whose children come in the order in which they are described. Returns its number.
    ///
    /// # Errors
    /// Where the writer fails.
    pub fn group(&mut self, name: &str) -> Result<u64> {
        self.describe(TrackDescriptor {
            name: Some(name.into()),
            child_ordering: Some(ORDER_EXPLICIT),
            ..TrackDescriptor::default()
        })
    }

    /// A track in a group, with slices, or with a counter's values. Returns its number.
    ///
    /// # Errors
    /// Where the writer fails.
    pub fn track(
        &mut self,
        group: u64,
        name: &str,
        counter: Option<CounterDescriptor>,
    ) -> Result<u64> {
        let rank = i32::try_from(self.tracks + 1 - group).unwrap_or(i32::MAX);
        self.describe(TrackDescriptor {
            parent_uuid: Some(group),
            name: Some(name.into()),
            sibling_order_rank: Some(rank),
            counter,
            ..TrackDescriptor::default()
        })
    }

    fn describe(&mut self, track: TrackDescriptor) -> Result<u64> {
        self.tracks += 1;
        let track = TrackDescriptor { uuid: Some(self.tracks), ..track };
        self.put(TracePacket { track_descriptor: Some(track), ..TracePacket::default() })?;
        Ok(self.tracks)
    }

    /// The number of a name from now on, for [`TrackEvent::name_iid`]. Ask once for each name.
    pub fn name(&mut self, name: impl Into<String>) -> u64 {
        self.names += 1;
        self.new_names.push(EventName { iid: Some(self.names), name: Some(name.into()) });
        self.names
    }

    /// The number of a new flow (an arrow), for [`TrackEvent::flow_ids`] and
    /// [`TrackEvent::terminating_flow_ids`].
    pub const fn flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }

    /// Something happens on a track, at a time that is not before that of the event before it; one
    /// that is counts as at that time.
    ///
    /// # Errors
    /// Where the writer fails.
    pub fn event(&mut self, at: Nanos, event: TrackEvent) -> Result<()> {
        let since = at.saturating_sub(self.now);
        self.now = self.now.max(at);
        let names = std::mem::take(&mut self.new_names);
        self.put(TracePacket {
            timestamp: Some(since.0),
            track_event: Some(event),
            interned_data: (!names.is_empty()).then_some(InternedData { event_names: names }),
            sequence_flags: Some(NEEDS_STATE),
            ..TracePacket::default()
        })
    }

    /// All has been said.
    ///
    /// # Errors
    /// Where the writer fails.
    pub fn finish(mut self) -> Result<()> {
        self.out.flush()
    }

    /// Writes a packet as the next of the field `packet` of `Trace`.
    fn put(&mut self, packet: TracePacket) -> Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(self.number), ..packet };
        self.packet.clear();
        prost::encoding::message::encode(1, &packet, &mut self.packet);
        self.out.write_all(&self.packet)
    }
}
