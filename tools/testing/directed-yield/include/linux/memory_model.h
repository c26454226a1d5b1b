/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the core reads and writes without a lock, and its barriers.
 *
 * Built with STUB_MODEL each of them is a step of the explorer (explore.h),
 * which tries all interleavings; otherwise it is what a compiler makes of it,
 * for real threads and ThreadSanitizer.
 */
#ifndef _STUB_LINUX_MEMORY_MODEL_H
#define _STUB_LINUX_MEMORY_MODEL_H

#include <linux/types.h>

#ifdef STUB_MODEL

void model_load(const volatile void *from, void *to, size_t size);
void model_store(volatile void *to, const void *from, size_t size, bool release);
void model_change_bit(volatile unsigned long *word, unsigned long mask, bool set);
void model_barrier(void);

#define READ_ONCE(x)							\
({									\
	__typeof__(x) __value;						\
	model_load(&(x), (void *)&__value, sizeof(__value));		\
	__value;							\
})
#define MODEL_STORE(x, value, release)					\
do {									\
	__typeof__(x) __value = (value);				\
	model_store(&(x), &__value, sizeof(__value), release);		\
} while (0)
#define WRITE_ONCE(x, value)		MODEL_STORE(x, value, false)
#define smp_load_acquire(p)		READ_ONCE(*(p))
#define smp_store_release(p, value)	MODEL_STORE(*(p), value, true)
#define smp_mb()			model_barrier()
#define stub_set_mask(word, mask)	model_change_bit(word, mask, true)
#define stub_clear_mask(word, mask)	model_change_bit(word, mask, false)

#else

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) \
	__atomic_store_n(p, value, __ATOMIC_RELEASE)
#ifdef __SANITIZE_THREAD__
/* It knows no fences.  This is one on the CPU, and orders nothing for it. */
static inline void smp_mb(void)
{
	int unshared;

	__atomic_exchange_n(&unshared, 0, __ATOMIC_SEQ_CST);
}
#else
#define smp_mb()		__atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#define stub_set_mask(word, mask) \
	__atomic_fetch_or(word, mask, __ATOMIC_RELAXED)
#define stub_clear_mask(word, mask) \
	__atomic_fetch_and(word, ~(mask), __ATOMIC_RELAXED)

#endif

#define smp_mb__after_atomic()	smp_mb()

typedef struct {
	int counter;
} atomic_t;

#define atomic_read(v)		READ_ONCE((v)->counter)

#endif
