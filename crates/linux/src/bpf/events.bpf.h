/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events for the user side. A thread that something has happened to has one entry in the ring
 * `events`, however often it wakes and blocks until the user side looks: what happened is in the
 * bits `pending` of its slot, and what came of it in its statistics. So the ring cannot overflow as
 * long as it has room for every slot.
 *
 * Entries there do not wake the user side; one in `doorbell` does. That is a ring of its own,
 * because a ring counts as readable as soon as it has any entry.
 */
#ifndef EVENKEEL_EVENTS_H
#define EVENKEEL_EVENTS_H

#include "maps.bpf.h"

/* Events that the user side is told whatever its `event_mask`. */
#define ALWAYS (EV_STARTED | EV_EXITED | EV_ENDED | EV_EXEC | EV_RENICED | EV_AFFINITY)

/* Wakes the user side if these events are worth it, once per sleep. It looks at `unseen` before it
 * sleeps. */
static __always_inline void wake_user_side(struct globals *globals, u32 bits)
{
	u32 nothing = 0, before = globals->unseen;

	/* `asleep` is read after it. */
	if ((before & bits) != bits)
		FULL_BARRIER(__sync_fetch_and_or(&globals->unseen, bits));
	if (bits & globals->wake_mask && globals->asleep &&
	    __sync_val_compare_and_swap(&globals->asleep, 1, 0) == 1)
		bpf_ringbuf_output(&doorbell, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

/* Tells the user side what has happened to a thread. */
static __always_inline void post_event(struct slot *slot, u32 slot_index, u32 bits)
{
	struct globals *globals = get_globals();

	if (!globals)
		return;
	bits &= globals->event_mask | ALWAYS;
	if (!bits)
		return;
	if ((slot->pending & bits) != bits && !__sync_fetch_and_or(&slot->pending, bits) &&
	    bpf_ringbuf_output(&events, &slot_index, sizeof(slot_index), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&globals->dropped_events, 1);
	wake_user_side(globals, bits);
}

#endif
