// The work of the cases, in one library that is compiled once: the bench and all peers call it, an
// iteration at a time. So no system is measured by what its compiler makes of the arithmetic.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Iterations of the loops, as in ../runtime/cases.rs.
enum { OPTIONS = 4000000, SHORT_LOOP = 1000, CELLS = 2000, COARSE = 128 };

// One iteration, which writes its own result: of `prices`, `short`, `frames`, `coarse`.
void work_price(size_t i);
void work_short(size_t i);
void work_cell(size_t i);
void work_coarse(size_t i);

// Stages of `pipeline`.
uint64_t work_item(uint64_t i);
uint64_t work_change(uint64_t x);
uint64_t work_collect(uint64_t last, uint64_t x);

// Of a case's results: how many there are (0: none are kept here), a number that depends on each of
// them, and 0 in place of each.
size_t work_count(const char* name);
uint64_t work_check(const char* name);
void work_clear(const char* name);

#ifdef __cplusplus
}
#endif
