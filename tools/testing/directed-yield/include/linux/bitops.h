/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_BITOPS_H
#define _STUB_LINUX_BITOPS_H

#include <linux/memory_model.h>
#include <linux/types.h>

#define BITS_PER_LONG		64
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_MASK(nr)		(1UL << ((nr) % BITS_PER_LONG))
#define BIT_WORD(nr)		((nr) / BITS_PER_LONG)
#define BITMAP_FIRST_WORD_MASK(start) (~0UL << ((start) % BITS_PER_LONG))

static inline unsigned long __ffs(unsigned long word)
{
	return __builtin_ctzl(word);
}

static inline bool test_bit(long nr, const volatile unsigned long *map)
{
	return READ_ONCE(map[BIT_WORD(nr)]) & BIT_MASK(nr);
}

/* Atomic, and as in the kernel without any order. */
static inline void set_bit(long nr, volatile unsigned long *map)
{
	stub_set_mask(&map[BIT_WORD(nr)], BIT_MASK(nr));
}

static inline void clear_bit(long nr, volatile unsigned long *map)
{
	stub_clear_mask(&map[BIT_WORD(nr)], BIT_MASK(nr));
}

#endif
