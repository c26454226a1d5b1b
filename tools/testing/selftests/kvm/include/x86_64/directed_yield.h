/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers for the directed yield tests.
 *
 * The guests are a few instructions each, run in flat 32-bit protected mode
 * without paging, so that a vCPU can be put at CPL 3 with nothing but its
 * segment registers.  Each vCPU finds its own struct dy_block through EBX.
 *
 * The host side of a test runs as SCHED_FIFO on the CPU that the vCPUs share,
 * and sleeps for a short while again and again (dy_nap()).  That preempts
 * whichever vCPU is running many times per tick, and as a vCPU that was
 * scheduled out starts again with a small PAUSE window, spinning vCPUs keep
 * reaching KVM instead of growing their window for ever.
 *
 * vCPU ids are deliberately not equal to vCPU indices, see dy_id().
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_H
#define SELFTEST_KVM_DIRECTED_YIELD_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "directed_yield_stats.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define DY_MAX_VCPUS	16

/* Guest physical layout, all of it within the first megabyte. */
#define DY_CODE_GPA	0x10000
#define DY_GDT_GPA	0x12000
#define DY_IDT_GPA	0x13000
#define DY_HV_GPA	0x14000
#define DY_STACK_GPA	0x20000		/* one page per vCPU */
#define DY_BLOCK_GPA	0x40000		/* one struct dy_block per vCPU */
#define DY_MEM_PAGES	256

#define DY_KERNEL_CS	0x08
#define DY_KERNEL_DS	0x10
#define DY_USER_CS	0x1b
#define DY_USER_DS	0x23
#define DY_IPI_VECTOR	0x40
#define DY_DONE_PORT	0x10

/* Known to the assembly below by offset. */
struct dy_block {
	u32 stop;			/*  0: the host wants the guest to end */
	u32 count;			/*  4: times around the loop */
	u32 icr2;			/*  8: whom to send the IPI to */
	u32 answer;		/* 12: address of the target's irqs */
	u32 irqs;			/* 16: interrupts handled */
	u32 limit;			/* 20: end by itself after that many */
	u32 delay;			/* 24: cycles or turns in between */
	u32 max_gap;		/* 28: longest time between two PAUSEs */
	u32 pad[8];
};

extern const char dy_guest_start[], dy_guest_end[];
extern const char dy_guest_spin[], dy_guest_work[], dy_guest_sleep[];
extern const char dy_guest_ipi[], dy_guest_pause[], dy_guest_irq[];
extern const char dy_guest_hv_amd[], dy_guest_hv_intel[];

asm(".pushsection .rodata\n"
	".code32\n"
	"dy_guest_start:\n"

	/* Spin until told to stop. */
	"dy_guest_spin:\n"
	"1:	incl	4(%ebx)\n"
	"	pause\n"
	"	cmpl	$0, (%ebx)\n"
	"	je	1b\n"
	"	jmp	dy_guest_done\n"

	/* Work until told to stop. */
	"dy_guest_work:\n"
	"1:	incl	4(%ebx)\n"
	"	cmpl	$0, (%ebx)\n"
	"	je	1b\n"
	"	jmp	dy_guest_done\n"

	/* Sleep; each interrupt is counted by dy_guest_irq. */
	"dy_guest_sleep:\n"
	"	movl	$0x1ff, 0xfee000f0\n"
	"1:	incl	4(%ebx)\n"
	"	sti\n"
	"	hlt\n"
	"	cli\n"
	"	cmpl	$0, (%ebx)\n"
	"	je	1b\n"
	"	jmp	dy_guest_done\n"

	/* Send an IPI, spin until it was handled, repeat. */
	"dy_guest_ipi:\n"
	"	movl	$0x1ff, 0xfee000f0\n"
	"	movl	12(%ebx), %esi\n"
	"1:	movl	(%esi), %edx\n"
	"	movl	8(%ebx), %eax\n"
	"	movl	%eax, 0xfee00310\n"
	"	movl	$0x4040, 0xfee00300\n"
	"2:	pause\n"
	"	cmpl	$0, (%ebx)\n"
	"	jne	dy_guest_done\n"
	"	cmpl	%edx, (%esi)\n"
	"	je	2b\n"
	"	incl	4(%ebx)\n"
	"	jmp	1b\n"

	/*
	 * Exactly "limit" PAUSEs, "delay" cycles apart; remember the longest gap
	 * between two of them in "max_gap".  The first instruction makes the host
	 * map the page, lest that happens in between.
	 */
	"dy_guest_pause:\n"
	"	movl	$0, 28(%ebx)\n"
	"	rdtsc\n"
	"	movl	%eax, %esi\n"
	"1:	pause\n"
	"	rdtsc\n"
	"	movl	%eax, %edx\n"
	"	subl	%esi, %edx\n"
	"	movl	%eax, %esi\n"
	"	cmpl	%edx, 28(%ebx)\n"
	"	jae	2f\n"
	"	movl	%edx, 28(%ebx)\n"
	"2:	movl	%esi, %edi\n"
	"	addl	24(%ebx), %edi\n"
	"3:	rdtsc\n"
	"	subl	%edi, %eax\n"
	"	js	3b\n"
	"	incl	4(%ebx)\n"
	"	movl	4(%ebx), %eax\n"
	"	cmpl	20(%ebx), %eax\n"
	"	jne	1b\n"
	"	jmp	dy_guest_done\n"

	/*
	 * Work for "delay" turns of a loop, then tell the hypervisor about a long
	 * spin, as Hyper-V guests do: each time is a spin exit.
	 */
	"dy_guest_hv_amd:\n"
	"	movl	%ebx, %ebp\n"
	"1:	movl	24(%ebp), %ecx\n"
	"	incl	%ecx\n"
	"2:	decl	%ecx\n"
	"	jnz	2b\n"
	"	movl	$0x10008, %eax\n"
	"	xorl	%edx, %edx\n"
	"	xorl	%ebx, %ebx\n"
	"	vmmcall\n"
	"	movl	%ebp, %ebx\n"
	"	incl	4(%ebx)\n"
	"	cmpl	$0, (%ebx)\n"
	"	je	1b\n"
	"	jmp	dy_guest_done\n"

	"dy_guest_hv_intel:\n"
	"	movl	%ebx, %ebp\n"
	"1:	movl	24(%ebp), %ecx\n"
	"	incl	%ecx\n"
	"2:	decl	%ecx\n"
	"	jnz	2b\n"
	"	movl	$0x10008, %eax\n"
	"	xorl	%edx, %edx\n"
	"	xorl	%ebx, %ebx\n"
	"	vmcall\n"
	"	movl	%ebp, %ebx\n"
	"	incl	4(%ebx)\n"
	"	cmpl	$0, (%ebx)\n"
	"	je	1b\n"

	"dy_guest_done:\n"
	"	outb	%al, $0x10\n"
	"	jmp	dy_guest_done\n"

	"dy_guest_irq:\n"
	"	incl	16(%ebx)\n"
	"	movl	$0, 0xfee000b0\n"
	"	iretl\n"

	"dy_guest_end:\n"
	".code64\n"
	".popsection\n");

struct dy_stats {
	int fd;
	struct kvm_stats_header header;
	struct kvm_stats_desc *desc;
};

struct dy_vcpu {
	struct kvm_vcpu *vcpu;
	struct dy_block *block;
	struct dy_stats stats;
	pthread_t thread;
	pid_t tid;
	int policy;
	int nice;
	bool running;
	bool closing;			/* KVM_RUN may find its fd closed */
	bool bad;
};

struct dy_vm {
	struct kvm_vm *vm;
	char debugfs[80];
	int nr;
	struct dy_vcpu v[DY_MAX_VCPUS];
};

/*
 * Ids are neither equal to indices nor dense, so that a core that mixes them
 * up does not get away with it.
 */
static inline u32 dy_id(int idx)
{
	return 5 * idx + 2;
}

static inline double dy_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1000000000.0;
}

static inline void dy_nap(void)
{
	struct timespec ts = { .tv_nsec = 200 * 1000 };

	nanosleep(&ts, NULL);
}

static inline bool dy_read_file(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		return false;
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	fclose(f);
	return n;
}

static inline bool dy_write_file(const char *path, const char *val)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = write(fd, val, strlen(val));
	close(fd);
	return n == strlen(val);
}

/* Results ---------------------------------------------------------------- */

/* Whether the test case that runs has failed. */
static bool failed __maybe_unused;

#define expect(cond, fmt, ...)						\
do {									\
	if (!(cond)) {							\
		ksft_print_msg("%s: " fmt "\n", __func__, ##__VA_ARGS__); \
		failed = true;						\
	}								\
} while (0)

/* Statistics ------------------------------------------------------------- */

static inline void dy_stats_open(struct dy_stats *s, struct kvm_vcpu *vcpu)
{
	s->fd = vcpu_get_stats_fd(vcpu);
	read_stats_header(s->fd, &s->header);
	s->desc = read_stats_descriptors(s->fd, &s->header);
}

static inline void dy_stats_close(struct dy_stats *s)
{
	free(s->desc);
	close(s->fd);
}

static inline bool dy_stats_read(struct dy_stats *s, const char *name,
				 u64 *val)
{
	struct kvm_stats_desc *desc = dy_find_stat(s->desc, &s->header, name);

	if (!desc)
		return false;
	read_stat_data(s->fd, &s->header, desc, val, 1);
	return true;
}

static inline u64 dy_stat(struct dy_vcpu *v, const char *name)
{
	u64 val;

	TEST_ASSERT(dy_stats_read(&v->stats, name, &val),
		    "No vCPU statistic named %s", name);
	return val;
}

static inline u64 dy_vm_stat(struct dy_vm *d, const char *name)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < d->nr; i++)
		sum += dy_stat(&d->v[i], name);
	return sum;
}

/* VMs -------------------------------------------------------------------- */

static inline void dy_vm_init_vm(struct dy_vm *d, struct kvm_vm *vm)
{
	static const u64 gdt[] = {
		0,
		0x00cf9b000000ffff, 0x00cf93000000ffff,	/* CPL 0 */
		0x00cffb000000ffff, 0x00cff3000000ffff,	/* CPL 3 */
	};
	u32 irq = DY_CODE_GPA + (dy_guest_irq - dy_guest_start);
	u32 *gate;

	memset(d, 0, sizeof(*d));
	d->vm = vm;
	snprintf(d->debugfs, sizeof(d->debugfs), "/sys/kernel/debug/kvm/%ld-%d",
		 syscall(SYS_gettid), vm->fd);

	vm_create_irqchip(vm);
	vm_userspace_mem_region_add(vm, VM_MEM_SRC_ANONYMOUS, 0, 0,
				    DY_MEM_PAGES, 0);

	memcpy(addr_gpa2hva(vm, DY_CODE_GPA), dy_guest_start,
	       dy_guest_end - dy_guest_start);
	memcpy(addr_gpa2hva(vm, DY_GDT_GPA), gdt, sizeof(gdt));
	gate = addr_gpa2hva(vm, DY_IDT_GPA + DY_IPI_VECTOR * 8);
	gate[0] = DY_KERNEL_CS << 16 | (irq & 0xffff);
	gate[1] = (irq & 0xffff0000) | 0x8e00;
}

static inline void dy_vm_init(struct dy_vm *d)
{
	dy_vm_init_vm(d, vm_create_barebones());
}

static inline void dy_set_seg(struct kvm_segment *seg, u16 selector,
			      u8 type)
{
	memset(seg, 0, sizeof(*seg));
	seg->limit = ~0u;
	seg->selector = selector;
	seg->type = type;
	seg->present = 1;
	seg->dpl = selector & 3;
	seg->db = 1;
	seg->s = 1;
	seg->g = 1;
}

/* Make @vcpu start at @code, at CPL 0 or 3, as the vCPU with index @idx. */
static inline void dy_vcpu_setup(struct kvm_vcpu *vcpu, int idx,
				 const char *code, bool user)
{
	u16 cs = user ? DY_USER_CS : DY_KERNEL_CS;
	u16 ds = user ? DY_USER_DS : DY_KERNEL_DS;
	struct kvm_mp_state mp_state = { .mp_state = KVM_MP_STATE_RUNNABLE };
	struct kvm_sregs sregs;
	struct kvm_regs regs = {
		.rip = DY_CODE_GPA + (code - dy_guest_start),
		.rsp = DY_STACK_GPA + (idx + 1) * 0x1000,
		.rbx = DY_BLOCK_GPA + idx * sizeof(struct dy_block),
		/* IOPL 3, so that OUT works everywhere. */
		.rflags = 0x3002,
	};

	vcpu_sregs_get(vcpu, &sregs);
	dy_set_seg(&sregs.cs, cs, 11);
	dy_set_seg(&sregs.ss, ds, 3);
	sregs.ds = sregs.ss;
	sregs.es = sregs.ss;
	sregs.fs = sregs.ss;
	sregs.gs = sregs.ss;
	sregs.gdt.base = DY_GDT_GPA;
	sregs.gdt.limit = 5 * 8 - 1;
	sregs.idt.base = DY_IDT_GPA;
	sregs.idt.limit = 256 * 8 - 1;
	sregs.cr0 = X86_CR0_PE | X86_CR0_ET | X86_CR0_NE;
	vcpu_sregs_set(vcpu, &sregs);
	vcpu_regs_set(vcpu, &regs);
	vcpu_mp_state_set(vcpu, &mp_state);
}

static inline struct dy_vcpu *dy_vcpu_add(struct dy_vm *d, const char *code,
					  bool user, int nice)
{
	int idx = d->nr++;
	struct dy_vcpu *v = &d->v[idx];

	TEST_ASSERT(idx < DY_MAX_VCPUS, "Too many vCPUs");
	v->vcpu = __vm_vcpu_add(d->vm, dy_id(idx));
	v->block = addr_gpa2hva(d->vm, DY_BLOCK_GPA + idx * sizeof(*v->block));
	v->nice = nice;
	v->policy = SCHED_OTHER;
	dy_stats_open(&v->stats, v->vcpu);
	dy_vcpu_setup(v->vcpu, idx, code, user);
	return v;
}

static inline void dy_vm_free(struct dy_vm *d)
{
	int i;

	for (i = 0; i < d->nr; i++)
		dy_stats_close(&d->v[i].stats);
	kvm_vm_free(d->vm);
	d->vm = NULL;
	d->nr = 0;
}

/* vCPU threads ----------------------------------------------------------- */

/* vCPUs that the emulator below this host has shut down, see there. */
static unsigned int dy_nr_lost;

/*
 * With several CPUs, QEMU 7.2 (TCG) clears and sets the bit for a vCPU's virtual
 * interrupt at VMRUN and #VMEXIT without its lock, so that now and then a vCPU
 * takes an interrupt that nobody sent.  These guests handle none, so they shut
 * down.  QEMU 11.1 does it atomically.  On any other CPU it is a failure.
 */
static inline bool dy_lost_by_emulator(struct kvm_run *run)
{
	u32 brand[12], i;

	if (run->exit_reason != KVM_EXIT_SHUTDOWN ||
	    sysconf(_SC_NPROCESSORS_ONLN) == 1)
		return false;

	for (i = 0; i < 3; i++)
		cpuid(0x80000002 + i, &brand[4 * i], &brand[4 * i + 1],
		      &brand[4 * i + 2], &brand[4 * i + 3]);
	if (strncmp((char *)brand, "QEMU TCG", 8))
		return false;

	dy_nr_lost++;
	return true;
}

static inline void dy_signal_handler(int sig)
{
}

static inline void *dy_vcpu_thread(void *arg)
{
	struct dy_vcpu *v = arg;
	struct sched_param param = {
		.sched_priority = v->policy == SCHED_FIFO,
	};
	int r;

	v->tid = syscall(SYS_gettid);
	r = sched_setscheduler(0, v->policy, &param);
	TEST_ASSERT(!r, "sched_setscheduler() failed: %d", errno);
	if (v->policy != SCHED_FIFO)
		setpriority(PRIO_PROCESS, 0, v->nice);

	do {
		r = __vcpu_run(v->vcpu);
	} while (r && errno == EINTR && !READ_ONCE(v->vcpu->run->immediate_exit));

	if (r && errno == EBADF && READ_ONCE(v->closing))
		return NULL;
	if (r ? errno != EINTR : v->vcpu->run->exit_reason != KVM_EXIT_IO) {
		if (!r && dy_lost_by_emulator(v->vcpu->run))
			return NULL;
		ksft_print_msg("vCPU %u ended with %d, errno %d, exit reason %u (%s)\n",
			       v->vcpu->id, r, errno,
			       v->vcpu->run->exit_reason,
			       exit_reason_str(v->vcpu->run->exit_reason));
		vcpu_dump(stdout, v->vcpu, 0);
		v->bad = true;
	}
	return NULL;
}

/* Wait until @v's guest has ended by itself; true if it went well. */
static inline bool dy_join(struct dy_vcpu *v)
{
	pthread_join(v->thread, NULL);
	v->running = false;
	return !v->bad;
}

static inline void dy_start(struct dy_vcpu *v)
{
	signal(SIGUSR1, dy_signal_handler);
	v->vcpu->run->immediate_exit = 0;
	v->bad = false;
	v->running = true;
	TEST_ASSERT(!pthread_create(&v->thread, NULL, dy_vcpu_thread, v),
		    "pthread_create() failed");
}

/* Start @v and wait until its guest has been around its loop once. */
static inline bool dy_start_wait(struct dy_vcpu *v)
{
	u32 count = READ_ONCE(v->block->count);
	double end = dy_now() + 20;

	dy_start(v);
	while (READ_ONCE(v->block->count) == count) {
		if (dy_now() > end) {
			ksft_print_msg("vCPU %u did not start\n", v->vcpu->id);
			return false;
		}
		dy_nap();
	}
	return true;
}

/* End @v's thread wherever its guest is; dy_start() makes it continue. */
static inline bool dy_interrupt(struct dy_vcpu *v)
{
	if (!v->running)
		return true;
	WRITE_ONCE(v->vcpu->run->immediate_exit, 1);
	pthread_kill(v->thread, SIGUSR1);
	pthread_join(v->thread, NULL);
	v->running = false;
	return !v->bad;
}

/* Ask @v's guest to end, or get it out of its sleep; true if it went well. */
static inline bool dy_stop(struct dy_vcpu *v)
{
	WRITE_ONCE(v->block->stop, 1);
	return dy_interrupt(v);
}

static inline bool dy_stop_all(struct dy_vm *d)
{
	bool ok = true;
	int i;

	for (i = 0; i < d->nr; i++)
		ok &= dy_stop(&d->v[i]);
	return ok;
}

/* Run the calling thread, and all that it creates, on one CPU. */
static inline void dy_pin_to_one_cpu(void)
{
	cpu_set_t set, one;
	int cpu;

	TEST_ASSERT(!sched_getaffinity(0, sizeof(set), &set),
		    "sched_getaffinity() failed");
	for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	TEST_ASSERT(!sched_setaffinity(0, sizeof(one), &one),
		    "sched_setaffinity() failed");
}

/* Let the calling thread, but not those it creates, preempt any vCPU. */
static inline bool dy_become_fifo(void)
{
	struct sched_param param = { .sched_priority = 10 };

	return !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

/* Tracing, in an instance of its own ------------------------------------- */

static const char *dy_tracefs;
static char dy_trace_dir[128];

struct dy_event {
	pid_t tid;
	unsigned int vcpu;
	unsigned int ready;
	unsigned int tried;
	int in_kernel;
	int boosted;
};

static inline bool dy_trace_write(const char *name, const char *val)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dy_trace_dir, name);
	return dy_write_file(path, val);
}

static inline bool dy_trace_find(void)
{
	static const char * const dirs[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[128];
	int i, pass;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < ARRAY_SIZE(dirs); i++) {
			snprintf(path, sizeof(path), "%s/instances", dirs[i]);
			if (access(path, W_OK))
				continue;
			dy_tracefs = dirs[i];
			return true;
		}
		if (mount("tracefs", dirs[0], "tracefs", 0, NULL))
			break;
	}
	return false;
}

static inline bool dy_trace_has_event(const char *event)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/events/%s", dy_tracefs, event);
	return !access(path, F_OK);
}

static inline void dy_trace_close(void)
{
	if (*dy_trace_dir) {
		dy_trace_write("tracing_on", "0");
		rmdir(dy_trace_dir);
	}
	*dy_trace_dir = '\0';
}

static inline bool dy_trace_open(const char *event)
{
	char path[128];

	snprintf(dy_trace_dir, sizeof(dy_trace_dir), "%s/instances/dy-%d",
		 dy_tracefs, getpid());
	if (mkdir(dy_trace_dir, 0700) && errno != EEXIST) {
		*dy_trace_dir = '\0';
		return false;
	}
	atexit(dy_trace_close);
	snprintf(path, sizeof(path), "events/%s/enable", event);
	return dy_trace_write("tracing_on", "0") &&
	       dy_trace_write("buffer_size_kb", "4096") &&
	       dy_trace_write(path, "1");
}

static inline void dy_trace_start(void)
{
	TEST_ASSERT(dy_trace_write("trace", " ") &&
		    dy_trace_write("tracing_on", "1"), "Could not start tracing");
}

/*
 * Stop tracing and return what was traced, with nothing lost.  The caller
 * closes it.
 */
static inline FILE *dy_trace_stop(void)
{
	char path[256], line[512];
	unsigned long in, written;
	FILE *f;

	dy_trace_write("tracing_on", "0");
	snprintf(path, sizeof(path), "%s/trace", dy_trace_dir);
	f = fopen(path, "r");
	TEST_ASSERT(f, "Could not read %s", path);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %lu/%lu",
			   &in, &written) != 2)
			continue;
		TEST_ASSERT(in == written, "The trace buffer is too small");
		break;
	}
	return f;
}

/* The next line of @f with an event named @event: its thread and its text. */
static inline char *dy_trace_next(FILE *f, const char *event, char *line,
				  size_t size, pid_t *tid)
{
	char *text, *p;

	while (fgets(line, size, f)) {
		if (*line == '#')
			continue;
		text = strstr(line, event);
		p = strstr(line, " [");
		if (!text || !p || p > text)
			continue;
		while (p > line && p[-1] == ' ')
			p--;
		while (p > line && p[-1] >= '0' && p[-1] <= '9')
			p--;
		*tid = atoi(p);
		return text + strlen(event);
	}
	return NULL;
}

/* Stop tracing and return the directed yields; *@evs is to be freed. */
static inline int dy_trace_yields(struct dy_event **evs)
{
	struct dy_event *ev = NULL, e;
	int nr = 0, max = 0;
	FILE *f = dy_trace_stop();
	char line[512], *text;

	while ((text = dy_trace_next(f, "kvm_directed_yield: ", line,
				     sizeof(line), &e.tid))) {
		TEST_ASSERT(sscanf(text, "vcpu %u in_kernel %d ready %u tried %u boosted %d",
				   &e.vcpu, &e.in_kernel, &e.ready, &e.tried,
				   &e.boosted) == 5,
			    "Unknown format of kvm_directed_yield: %s", text);
		if (nr == max) {
			max = max ? 2 * max : 1024;
			ev = realloc(ev, max * sizeof(*ev));
			TEST_ASSERT(ev, "Out of memory");
		}
		ev[nr++] = e;
	}
	fclose(f);
	*evs = ev;
	return nr;
}

/* Preconditions ---------------------------------------------------------- */

/* Skip the whole test unless the kernel has directed yield as tested here. */
static inline void dy_require_core(void)
{
	struct dy_stats stats;
	struct kvm_vcpu *vcpu;
	struct kvm_vm *vm;
	u64 val;
	bool has;

	__TEST_REQUIRE(!access(DY_SWITCH, F_OK),
		       "this kernel has no directed yield core (no " DY_SWITCH ")");
	__TEST_REQUIRE(dy_trace_find(), "tracefs is not there or not writable");

	vm = vm_create_barebones();
	vcpu = __vm_vcpu_add(vm, 0);
	dy_stats_open(&stats, vcpu);
	has = dy_stats_read(&stats, "dy_exits", &val);
	dy_stats_close(&stats);
	kvm_vm_free(vm);
	__TEST_REQUIRE(has, "this kernel does not count spin exits per vCPU");
}

/* Do PAUSEs of a vCPU at CPL 0 or 3 reach the core on this host? */
static inline bool dy_pause_exits(bool user)
{
	double end = dy_now() + 5;
	struct dy_vcpu *v;
	struct dy_vm d;
	bool ret;

	dy_vm_init(&d);
	v = dy_vcpu_add(&d, dy_guest_spin, user, 0);
	dy_start(v);
	do {
		dy_nap();
		ret = dy_stat(v, "dy_exits");
	} while (!ret && dy_now() < end);
	dy_stop_all(&d);
	dy_vm_free(&d);
	return ret;
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_H */
