/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the user side is told. A thread that something has happened to goes into the ring once; what
 * it was is in the bits `pending` of its slot, and what came of it in its statistics. However often
 * threads wake and block between two looks, there is one note for each: the ring cannot run over as
 * long as it has room for every slot.
 *
 * Notes wake nobody by themselves; the bell does. It is a ring of its own, because one with
 * something in it counts as ready, whoever put it there.
 */
#ifndef EVENKEEL_EVENTS_H
#define EVENKEEL_EVENTS_H

#include "maps.bpf.h"

/* Told whatever the policy's interest. */
#define ALWAYS (P_STARTED | P_EXITED | P_ENDED | P_EXEC | P_RENICED | P_AFFINITY)

/* Wakes the user side if these are worth it, once per sleep. Before it sleeps it looks at what is
 * unseen. */
static __always_inline void ring(struct board *board, u32 bits)
{
	u32 nothing = 0, before = board->unseen;

	/* Whether anybody sleeps is read after it. */
	if ((before & bits) != bits)
		IN_ORDER(__sync_fetch_and_or(&board->unseen, bits));
	if (bits & board->rings_for && board->asleep &&
	    __sync_val_compare_and_swap(&board->asleep, 1, 0) == 1)
		bpf_ringbuf_output(&bell, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void note(struct slot *slot, u32 at, u32 bits)
{
	struct board *board = the_board();

	if (!board)
		return;
	bits &= board->interest | ALWAYS;
	if (!bits)
		return;
	if ((slot->pending & bits) != bits && !__sync_fetch_and_or(&slot->pending, bits) &&
	    bpf_ringbuf_output(&notes, &at, sizeof(at), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&board->dropped, 1);
	ring(board, bits);
}

#endif
