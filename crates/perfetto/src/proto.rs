//! The part of Perfetto's trace format that is written here, field numbers as in
//! `protos/perfetto/trace/trace_packet.proto`, `track_event/track_event.proto`,
//! `track_event/debug_annotation.proto`, `track_event/track_descriptor.proto`,
//! `track_event/counter_descriptor.proto`, `clock_snapshot.proto`, `trace_packet_defaults.proto`
//! and `interned_data/interned_data.proto` of
//! <https://github.com/google/perfetto>. Repeated numbers are unpacked: the format is proto2.

/// A trace file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// What it holds, in order.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One entry of a trace file; one of `clock_snapshot`, `track_event` and `track_descriptor` is set.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// Clocks of this sequence.
    #[prost(message, optional, tag = "6")]
    pub clock_snapshot: Option<ClockSnapshot>,
    /// When, on the clock of `timestamp_clock_id` or the sequence's default.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Packets of one number share interned names and an incremental clock.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// A slice's begin or end, an instant, a counter's value.
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    /// Names from here on referred to by number.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`STATE_CLEARED`] or [`NEEDS_STATE`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// The clock of `timestamp`.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// What later packets of the sequence leave out.
    #[prost(message, optional, tag = "59")]
    pub trace_packet_defaults: Option<TracePacketDefaults>,
    /// A new track.
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
}

/// `SEQ_INCREMENTAL_STATE_CLEARED`.
pub const STATE_CLEARED: u32 = 1;
/// `SEQ_NEEDS_INCREMENTAL_STATE`.
pub const NEEDS_STATE: u32 = 2;

/// Defaults of a sequence.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacketDefaults {
    /// The clock of packets that name none.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
}

/// Readings of several clocks at one instant.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ClockSnapshot {
    /// The readings.
    #[prost(message, repeated, tag = "1")]
    pub clocks: Vec<Clock>,
}

/// One reading of [`ClockSnapshot`].
#[derive(Clone, PartialEq, prost::Message)]
pub struct Clock {
    /// [`BOOTTIME`], or from 64 to 127 a clock of the sequence's own.
    #[prost(uint32, optional, tag = "1")]
    pub clock_id: Option<u32>,
    /// Reading, nanoseconds.
    #[prost(uint64, optional, tag = "2")]
    pub timestamp: Option<u64>,
    /// Each packet's timestamp counts from the packet before.
    #[prost(bool, optional, tag = "3")]
    pub is_incremental: Option<bool>,
}

/// `BuiltinClocks::BOOTTIME`, on which a trace is drawn.
pub const BOOTTIME: u32 = 6;

/// Names referred to by number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Names of slices.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<EventName>,
}

/// A name and its number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct EventName {
    /// Number, from 1.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// Something that happened on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// What more is to be known of it.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// An [`EventType`].
    #[prost(enumeration = "EventType", optional, tag = "9")]
    pub r#type: Option<i32>,
    /// Name, by number.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// Values of the counters of `extra_counter_track_uuids` at this instant.
    #[prost(int64, repeated, packed = "false", tag = "12")]
    pub extra_counter_values: Vec<i64>,
    /// A counter's value.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
    /// Further counters that this event sets.
    #[prost(uint64, repeated, packed = "false", tag = "31")]
    pub extra_counter_track_uuids: Vec<u64>,
    /// A counter's value, as a fraction.
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
    /// Arrows that start here.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Arrows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A name and a value, which the viewer shows with the event.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Value.
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
    /// Name.
    #[prost(string, optional, tag = "10")]
    pub name: Option<String>,
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum EventType {
    /// `TYPE_UNSPECIFIED`.
    Unspecified = 0,
    /// `TYPE_SLICE_BEGIN`.
    SliceBegin = 1,
    /// `TYPE_SLICE_END`.
    SliceEnd = 2,
    /// `TYPE_INSTANT`.
    Instant = 3,
    /// `TYPE_COUNTER`.
    Counter = 4,
}

/// A row of the viewer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number; never 0, which is the trace's own.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// The track that it stands under.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// Set: a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How the tracks under it are ordered: [`ORDER_EXPLICIT`].
    #[prost(int32, optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among the tracks of one parent.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// `ChildTracksOrdering::EXPLICIT`.
pub const ORDER_EXPLICIT: i32 = 3;

/// What a counter counts.
#[derive(Clone, PartialEq, prost::Message)]
pub struct CounterDescriptor {
    /// [`UNIT_COUNT`], where `unit_name` is not set.
    #[prost(int32, optional, tag = "3")]
    pub unit: Option<i32>,
    /// What the viewer multiplies values by.
    #[prost(int64, optional, tag = "4")]
    pub unit_multiplier: Option<i64>,
    /// Unit, in letters.
    #[prost(string, optional, tag = "6")]
    pub unit_name: Option<String>,
}

/// `CounterDescriptor::UNIT_COUNT`.
pub const UNIT_COUNT: i32 = 2;
