/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The statistics of vCPUs that tell what directed yield did, and its switch.
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_STATS_H
#define SELFTEST_KVM_DIRECTED_YIELD_STATS_H

#include "kvm_util.h"
#include "test_util.h"

/* The host's switch. */
#define DY_SWITCH	"/sys/module/kvm/parameters/directed_yield"

/*
 * Statistics of a vCPU, by the names that KVM gives them.  Not every kernel and
 * architecture has all of them.
 */
enum {
	DY_STAT_EXITS,
	DY_STAT_IRQ_EXITS,
	DY_STAT_IO_EXITS,
	DY_STAT_PF_TAKEN,
	DY_STAT_SPIN_EXITS,
	DY_STAT_NO_CANDIDATE,
	DY_STAT_TRIED,
	DY_STAT_TOOK_EFFECT,
	NR_DY_STATS,
};

static const char * const dy_stat_names[NR_DY_STATS] = {
	[DY_STAT_EXITS]		= "exits",
	[DY_STAT_IRQ_EXITS]	= "irq_exits",
	[DY_STAT_IO_EXITS]		= "io_exits",
	[DY_STAT_PF_TAKEN]		= "pf_taken",
	[DY_STAT_SPIN_EXITS]		= "dy_exits",
	[DY_STAT_NO_CANDIDATE]	= "dy_no_candidate",
	[DY_STAT_TRIED]		= "dy_tried",
	[DY_STAT_TOOK_EFFECT]	= "dy_took_effect",
};

#define DY_STAT_MISSING	INT64_MIN

/* The descriptor of the statistic @name; NULL if this kernel has none. */
static inline struct kvm_stats_desc *
dy_find_stat(struct kvm_stats_desc *descs, struct kvm_stats_header *header,
	     const char *name)
{
	struct kvm_stats_desc *desc;
	int i;

	for (i = 0; i < header->num_desc; i++) {
		desc = get_stats_descriptor(descs, i, header);
		if (!strcmp(desc->name, name))
			return desc;
	}
	return NULL;
}

/* The value of the statistic @name, which must exist, read through @fd. */
static inline u64 dy_read_stat(int fd, const char *name)
{
	struct kvm_stats_desc *descs, *desc;
	struct kvm_stats_header header;
	u64 value;

	read_stats_header(fd, &header);
	descs = read_stats_descriptors(fd, &header);
	desc = dy_find_stat(descs, &header, name);
	TEST_ASSERT(desc, "No statistic %s", name);
	read_stat_data(fd, &header, desc, &value, 1);
	free(descs);
	return value;
}

/*
 * Add the statistics of @vcpu to @stats, or with a negative @sign subtract
 * them, which two calls turn into what happened in between.
 */
static inline void dy_read_vcpu_stats(struct kvm_vcpu *vcpu, s64 *stats, int sign)
{
	struct kvm_stats_header header;
	struct kvm_stats_desc *descs, *desc;
	u64 value;
	int fd, s;

	fd = vcpu_get_stats_fd(vcpu);
	read_stats_header(fd, &header);
	descs = read_stats_descriptors(fd, &header);

	for (s = 0; s < NR_DY_STATS; s++) {
		desc = dy_find_stat(descs, &header, dy_stat_names[s]);
		if (!desc) {
			stats[s] = DY_STAT_MISSING;
			continue;
		}
		read_stat_data(fd, &header, desc, &value, 1);
		stats[s] += sign * (s64)value;
	}
	free(descs);
	close(fd);
}

/*
 * The number of spin exits.  A kernel that does not count them has a total, of
 * which the other exits that this load causes are known.
 */
static inline s64 dy_spin_exits(const s64 *stats, const char **source)
{
	s64 n;
	int s;

	if (stats[DY_STAT_SPIN_EXITS] != DY_STAT_MISSING) {
		*source = "dy_exits";
		return stats[DY_STAT_SPIN_EXITS];
	}

	*source = "exits";
	n = stats[DY_STAT_EXITS];
	if (n == DY_STAT_MISSING)
		return 0;
	for (s = DY_STAT_IRQ_EXITS; s <= DY_STAT_PF_TAKEN; s++) {
		if (stats[s] != DY_STAT_MISSING)
			n -= stats[s];
	}
	return n > 0 ? n : 0;
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_STATS_H */
