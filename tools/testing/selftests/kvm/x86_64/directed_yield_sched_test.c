// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directed yield in the groups in which VMs live: who runs, and who pays.
 *
 * All vCPUs share one CPU, or in one of the tests two, in the layout of libvirt:
 *
 *	<base>/<vm>/emulator, <base>/<vm>/vcpu<n>, <base>/<bystander>
 *
 * or, as "flat", all in <base>.  The groups are threaded, so that one process can
 * be all VMs; to the scheduler that is the same.  A vCPU that yields does so with
 * the hypercall for a long spin wait, which is one spin exit each time, after a
 * fixed amount of work.
 *
 * What is compared are shares of CPU time, and the order in which the scheduler
 * picks; never how long something took.
 */
#include "directed_yield.h"
#include "directed_yield_cgroup.h"
#include "hyperv.h"

#define FEATURES	"/sys/kernel/debug/sched/features"
#define MAX_THREADS	16

/*
 * Turns of the guest's loop between two yields: without need, early, shortly
 * before the end of the shortest slice (0.75 ms), and about a tick.  The times
 * are those of an emulated CPU with 1 ns for an instruction; a faster one yields
 * earlier, for which the same must be true.
 */
#define YIELD_AT_ONCE	0
#define YIELD_EARLY	50000
#define YIELD_LATE	350000
#define YIELD_AT_TICK	1750000

/* Parts of a fair share that may be missing. */
#define TOLERANCE	0.02

static struct dy_cgroup base;

/* The CPUs that the test may use, up to two: the one it runs on, and another. */
static int cpus[2], nr_cpus;

/* A thread that is no vCPU: busy all the time, or for a part of each period. */
struct busy {
	pthread_t thread;
	pid_t tid;
	bool stop;
	u64 period_ns;
	u64 work_ns;
	u64 missed;
	u64 worst_ns;
};

/* Groups and threads of one test, to be measured and taken down together. */
static struct {
	bool flat;
	int nr_groups;
	struct dy_cgroup groups[32];
	int nr_vms;
	struct dy_vm vm[2];
	struct dy_cgroup vm_group[2];
	int nr_busy;
	struct busy busy[MAX_THREADS];
} t;

/* CPU time of a thread over the time that was measured. */
struct used {
	clockid_t clock;
	u64 ns;
};

static u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	TEST_ASSERT(!clock_gettime(clock, &ts), "clock_gettime() failed: %s",
		    strerror(errno));
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Groups ----------------------------------------------------------------- */

static struct dy_cgroup *new_group(const struct dy_cgroup *parent, bool inner,
				   const char *fmt, ...)
{
	struct dy_cgroup *cg = &t.groups[t.nr_groups++];
	char name[32];
	va_list ap;

	TEST_ASSERT(t.nr_groups <= ARRAY_SIZE(t.groups), "Too many groups");
	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	dy_cgroup_path(cg, "%s/%s", parent->path, name);
	dy_cgroup_mkdir(cg);
	dy_cgroup_write(cg, "cgroup.type", "threaded");
	if (inner)
		dy_cgroup_write(cg, "cgroup.subtree_control", "+cpu");
	return cg;
}

static void move(pid_t tid, const struct dy_cgroup *cg)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", tid);
	dy_cgroup_write(cg, "cgroup.threads", text);
}

static void begin(bool flat)
{
	memset(&t, 0, sizeof(t));
	t.flat = flat;
}

static int new_vm(void)
{
	int vm = t.nr_vms++;

	dy_vm_init(&t.vm[vm]);
	if (!t.flat)
		t.vm_group[vm] = *new_group(&base, true, "vm%d", vm);
	return vm;
}

/* vCPUs ------------------------------------------------------------------ */

/* Start the vCPU @v of @vm and put it where libvirt does; return its group. */
static struct dy_cgroup *start_vcpu(int vm, struct dy_vcpu *v)
{
	struct dy_cgroup *cg = NULL;

	dy_start(v);
	while (!READ_ONCE(v->tid))
		dy_nap();
	if (!t.flat) {
		cg = new_group(&t.vm_group[vm], false, "vcpu%u", v->vcpu->id);
		move(v->tid, cg);
	}
	return cg;
}

static struct dy_vcpu *new_worker(int vm)
{
	return dy_vcpu_add(&t.vm[vm], dy_guest_work, false, 0);
}

static struct dy_vcpu *new_yielder(int vm, u32 delay)
{
	struct dy_vcpu *yielder;

	yielder = dy_vcpu_add(&t.vm[vm], host_cpu_is_amd ? dy_guest_hv_amd :
						     dy_guest_hv_intel, false, 0);
	yielder->block->delay = delay;
	vcpu_set_hv_cpuid(yielder->vcpu);
	vcpu_set_msr(yielder->vcpu, HV_X64_MSR_GUEST_OS_ID, HYPERV_LINUX_OS_ID);
	vcpu_set_msr(yielder->vcpu, HV_X64_MSR_HYPERCALL, DY_HV_GPA | 1);
	return yielder;
}

/* Start all vCPUs of @vm. */
static void start_vm(int vm)
{
	int i;

	for (i = 0; i < t.vm[vm].nr; i++)
		start_vcpu(vm, &t.vm[vm].v[i]);
}

/* Other threads ---------------------------------------------------------- */

static void work_for(struct busy *b, u64 ns)
{
	u64 end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (!READ_ONCE(b->stop) && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *busy_thread(void *arg)
{
	struct busy *b = arg;
	struct sched_param param = { };
	struct timespec ts;
	u64 next, late;

	TEST_ASSERT(!sched_setscheduler(0, SCHED_OTHER, &param),
		    "sched_setscheduler() failed: %d", errno);
	WRITE_ONCE(b->tid, syscall(SYS_gettid));

	next = clock_ns(CLOCK_MONOTONIC);
	while (!READ_ONCE(b->stop)) {
		if (!b->period_ns)
			continue;
		next += b->period_ns;
		ts.tv_sec = next / NSEC_PER_SEC;
		ts.tv_nsec = next % NSEC_PER_SEC;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		work_for(b, b->work_ns);
		late = clock_ns(CLOCK_MONOTONIC) - next;
		b->worst_ns = max(b->worst_ns, late);
		b->missed += late > b->period_ns;
	}
	return NULL;
}

/* A thread in @cg, busy for @work_ns in each @period_ns, or if 0 always. */
static struct busy *new_busy(const struct dy_cgroup *cg, u64 work_ns,
			     u64 period_ns)
{
	struct busy *b = &t.busy[t.nr_busy++];

	TEST_ASSERT(t.nr_busy <= MAX_THREADS, "Too many threads");
	b->work_ns = work_ns;
	b->period_ns = period_ns;
	TEST_ASSERT(!pthread_create(&b->thread, NULL, busy_thread, b),
		    "pthread_create() failed");
	while (!READ_ONCE(b->tid))
		dy_nap();
	if (!t.flat)
		move(b->tid, cg);
	return b;
}

/* Measuring -------------------------------------------------------------- */

static struct used vcpu_used(struct dy_vcpu *v)
{
	struct used u = { };

	TEST_ASSERT(!pthread_getcpuclockid(v->thread, &u.clock), "No CPU clock");
	return u;
}

static struct used busy_used(struct busy *b)
{
	struct used u = { };

	TEST_ASSERT(!pthread_getcpuclockid(b->thread, &u.clock), "No CPU clock");
	return u;
}

/*
 * Let all run for @ms, not counting a while to get going, and return the time
 * that they used together.
 */
static u64 measure(struct used *used, int nr, unsigned int ms)
{
	u64 sum = 0;
	int i;

	sleep_ms(100);
	for (i = 0; i < nr; i++)
		used[i].ns = clock_ns(used[i].clock);
	sleep_ms(ms);
	for (i = 0; i < nr; i++) {
		used[i].ns = clock_ns(used[i].clock) - used[i].ns;
		sum += used[i].ns;
	}
	return sum;
}

static u64 took_effect(int vm)
{
	return dy_vm_stat(&t.vm[vm], "dy_took_effect");
}

/* Stop and remove everything. */
static void end(void)
{
	bool ok = true;
	int i;

	for (i = 0; i < t.nr_vms; i++) {
		ok &= dy_stop_all(&t.vm[i]);
		dy_vm_free(&t.vm[i]);
	}
	for (i = 0; i < t.nr_busy; i++) {
		WRITE_ONCE(t.busy[i].stop, true);
		pthread_join(t.busy[i].thread, NULL);
	}
	expect(ok, "A vCPU ended in an unexpected way");
	while (t.nr_groups)
		expect(dy_cgroup_remove(&t.groups[--t.nr_groups]),
		       "Could not remove %s", t.groups[t.nr_groups].path);
}

static void set_feature(const char *name, bool on)
{
	char text[32];

	snprintf(text, sizeof(text), "%s%s", on ? "" : "NO_", name);
	TEST_ASSERT(dy_write_file(FEATURES, text), "Could not set %s", text);
}

/* Who is picked ---------------------------------------------------------- */

struct picks {
	int yields;		/* that took effect */
	int again;		/* the yielder was picked once more */
	int target;		/* the one that was yielded to was picked */
};

static struct dy_vcpu *vcpu_by_id(struct dy_vm *d, int id)
{
	int i;

	for (i = 0; i < d->nr; i++) {
		if ((int)d->v[i].vcpu->id == id)
			return &d->v[i];
	}
	return NULL;
}

static int index_by_tid(struct dy_vm *d, pid_t tid)
{
	int i;

	for (i = 0; i < d->nr; i++) {
		if (d->v[i].tid == tid)
			return i;
	}
	return -1;
}

/* The vCPU whose thread @line, an event of the trace, is from, or -1. */
static int index_by_line(struct dy_vm *d, const char *line)
{
	char pid[24];
	int i;

	for (i = 0; i < d->nr; i++) {
		snprintf(pid, sizeof(pid), "-%d ", d->v[i].tid);
		if (strstr(line, pid))
			return i;
	}
	return -1;
}

/*
 * What the scheduler did at each yield of @d that was traced.  The event of a
 * yield comes when the yielder is back, so the first switch away from it since
 * its event before was the yield's; if there was none it has been picked again.
 */
static struct picks read_picks(struct dy_vm *d)
{
	bool begun[DY_MAX_VCPUS] = { };
	pid_t next_of[DY_MAX_VCPUS] = { };
	FILE *f = dy_trace_stop();
	struct picks p = { };
	char line[512], *text;
	struct dy_vcpu *to;
	int i;

	while (fgets(line, sizeof(line), f)) {
		text = strstr(line, "sched_switch: ");
		if (text) {
			text = strstr(text, "prev_pid=");
			i = index_by_tid(d, atoi(text + strlen("prev_pid=")));
			text = strstr(text, "next_pid=");
			if (i >= 0 && !next_of[i])
				next_of[i] = atoi(text + strlen("next_pid="));
			continue;
		}

		text = strstr(line, "kvm_directed_yield: ");
		if (!text)
			continue;
		*text++ = '\0';
		i = index_by_line(d, line);
		if (i < 0)
			continue;
		text = strstr(text, "boosted ");
		to = vcpu_by_id(d, atoi(text + strlen("boosted ")));
		/* The first one may have begun before the trace. */
		if (to && begun[i]) {
			p.yields++;
			p.again += !next_of[i];
			p.target += to->tid == next_of[i];
		}
		begun[i] = true;
		next_of[i] = 0;
	}
	fclose(f);
	return p;
}

/*
 * One vCPU works, three yield.  If the yielder is picked again more than rarely,
 * @again_max in percent, a spinner burns its slice instead of letting the one run
 * that it waits for; nor does it help if that one is picked less often than
 * @target_min.
 */
static void next_pick(bool flat, bool crowded, int again_max, int target_min)
{
	struct picks p;
	int vm, i;

	begin(flat);
	vm = new_vm();
	new_worker(vm);
	for (i = 0; i < 3; i++)
		new_yielder(vm, YIELD_EARLY);
	start_vm(vm);
	if (crowded) {
		new_busy(flat ? NULL : new_group(&t.vm_group[vm], false, "emulator"),
			 0, 0);
		new_busy(flat ? NULL : new_group(&base, false, "hog"), 0, 0);
	}
	sleep_ms(100);
	dy_trace_start();
	sleep_ms(200);
	p = read_picks(&t.vm[vm]);
	end();

	ksft_print_msg("%s%s: %d yields, picked next: the target %d times, the yielder %d times\n",
		       flat ? "flat" : "groups",
		       crowded ? " next to others" : "", p.yields, p.target,
		       p.again);
	expect(p.yields >= 100, "Only %d yields", p.yields);
	expect(p.again * 100 <= p.yields * again_max,
	       "After %d yields the yielder was picked again %d times", p.yields,
	       p.again);
	expect(p.target * 100 >= p.yields * target_min,
	       "After %d yields the target was picked %d times", p.yields,
	       p.target);
}

/*
 * The yielder may be picked again: where the target is further ahead of its share
 * than was given up for it, and the others are as well, it is the one whose turn
 * it is.  With four threads on one level that is one yield of six, next to others
 * up to one of eleven; without forfeiting where they compete, two of five in the
 * groups.  With nobody else there the target is picked at 58 of 100 yields, and
 * at 43 to 45 if nothing is paid for it.
 */
static void test_next_pick(void)
{
	next_pick(true, false, 22, 52);
	next_pick(true, true, 15, 45);
	next_pick(false, false, 5, 52);
	next_pick(false, true, 15, 45);
}

/* Shares ----------------------------------------------------------------- */

static bool below(u64 got, u64 sum, double fair)
{
	return got < sum * fair * (1 - TOLERANCE);
}

/* What a VM gets does not depend on whether its vCPUs yield to each other. */
static void equal_vms(u32 delay, bool both)
{
	struct used used[2 * 4];
	u64 vm_ns[2] = { }, yields;
	int i;

	begin(false);
	for (i = 0; i < 2; i++)
		new_vm();
	for (i = 0; i < ARRAY_SIZE(used); i++) {
		if ((!(i / 4) || both) && i % 4)
			new_yielder(i / 4, delay);
		else
			new_worker(i / 4);
	}
	for (i = 0; i < 2; i++)
		start_vm(i);
	for (i = 0; i < ARRAY_SIZE(used); i++)
		used[i] = vcpu_used(&t.vm[i / 4].v[i % 4]);
	measure(used, ARRAY_SIZE(used), 1000);
	for (i = 0; i < ARRAY_SIZE(used); i++)
		vm_ns[i / 4] += used[i].ns;
	yields = took_effect(0);
	end();

	ksft_print_msg("yields after %u turns: %lu in the first VM, CPU time %lu and %lu us\n",
		       delay, yields, vm_ns[0] / 1000, vm_ns[1] / 1000);
	expect(yields >= 100, "Only %lu yields", yields);
	expect(vm_ns[0] >= vm_ns[1] * (1 - TOLERANCE) &&
	       vm_ns[1] >= vm_ns[0] * (1 - TOLERANCE),
	       "Two VMs of equal weight got %lu and %lu us", vm_ns[0] / 1000,
	       vm_ns[1] / 1000);
}

static void test_equal_vms(void)
{
	equal_vms(YIELD_EARLY, false);
	equal_vms(YIELD_LATE, true);
}

/*
 * @nr vCPUs hand the CPU to each other for as long as they can.  A thread of
 * somebody else and a vCPU that does not take part must get what is theirs.
 */
static void adversary(bool flat, int nr, u32 delay)
{
	struct used used[DY_MAX_VCPUS];
	double fair_hog, fair_worker;
	u64 sum, yields;
	struct busy *hog;
	int vm, i;

	begin(flat);
	vm = new_vm();
	for (i = 0; i < nr; i++)
		new_yielder(vm, delay);
	new_worker(vm);
	hog = new_busy(flat ? NULL : new_group(&base, false, "hog"), 0, 0);
	start_vm(vm);
	for (i = 0; i <= nr; i++)
		used[i] = vcpu_used(&t.vm[vm].v[i]);
	used[nr + 1] = busy_used(hog);
	/* So long that a tick more or less does not count. */
	sum = measure(used, nr + 2, delay == YIELD_AT_TICK ? 2000 : 1000);
	yields = took_effect(vm);
	end();

	fair_hog = flat ? 1.0 / (nr + 2) : 1.0 / 2;
	fair_worker = flat ? 1.0 / (nr + 2) : 1.0 / 2 / (nr + 1);
	ksft_print_msg("%s, %d vCPUs yield after %u turns, %lu times\n",
		       flat ? "flat" : "groups", nr, delay, yields);
	ksft_print_msg("  bystander %.3f (fair %.3f), other vCPU %.3f (fair %.3f)\n",
		       used[nr + 1].ns / (double)sum, fair_hog,
		       used[nr].ns / (double)sum, fair_worker);
	expect(yields >= 20, "Only %lu yields", yields);
	expect(!below(used[nr + 1].ns, sum, fair_hog),
	       "A bystander got %.3f of the CPU, which is less than %.3f",
	       used[nr + 1].ns / (double)sum, fair_hog);
	expect(!below(used[nr].ns, sum, fair_worker),
	       "A vCPU that does not yield got %.3f of the CPU, less than %.3f",
	       used[nr].ns / (double)sum, fair_worker);
}

static void test_adversary(void)
{
	static const u32 delays[] = {
		YIELD_AT_ONCE, YIELD_LATE, YIELD_AT_TICK,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		adversary(true, 2, delays[i]);
		adversary(true, 4, delays[i]);
		adversary(false, 4, delays[i]);
	}
}

/* As before, with unequal weights at both levels. */
static void test_weights(void)
{
	static const char * const weights[] = { "400", "50", "100" };
	struct used used[5];
	struct busy *hog;
	u64 sum, vm_ns;
	int vm, i;

	begin(false);
	vm = new_vm();
	new_yielder(vm, YIELD_LATE);
	new_yielder(vm, YIELD_LATE);
	new_worker(vm);
	dy_cgroup_write(&t.vm_group[vm], "cpu.weight", "300");
	for (i = 0; i < 3; i++)
		dy_cgroup_write(start_vcpu(vm, &t.vm[vm].v[i]), "cpu.weight",
				weights[i]);
	hog = new_busy(new_group(&base, false, "hog"), 0, 0);
	for (i = 0; i < 3; i++)
		used[i] = vcpu_used(&t.vm[vm].v[i]);
	used[3] = busy_used(hog);
	sum = measure(used, 4, 2000);
	vm_ns = sum - used[3].ns;
	end();

	ksft_print_msg("VM of 3/4 %.3f: yield %.3f, %.3f, other %.3f; bystander %.3f\n",
		       vm_ns / (double)sum, used[0].ns / (double)sum,
		       used[1].ns / (double)sum, used[2].ns / (double)sum,
		       used[3].ns / (double)sum);
	expect(!below(used[3].ns, sum, 0.25),
	       "A bystander with a quarter of the weight got %.3f",
	       used[3].ns / (double)sum);
	expect(!below(vm_ns, sum, 0.75),
	       "A VM with three quarters of the weight got %.3f",
	       vm_ns / (double)sum);
	expect(!below(used[2].ns, vm_ns, 100.0 / 550),
	       "A vCPU with weight 100 of 550 that does not yield got %.3f",
	       used[2].ns / (double)vm_ns);
	/* It yields when its turn has taken it ahead: it has nothing to give up. */
	expect(!below(used[1].ns, vm_ns, 50.0 / 550),
	       "A vCPU with weight 50 of 550 that yields late got %.3f",
	       used[1].ns / (double)vm_ns);
}

/* Two run queues --------------------------------------------------------- */

static void run_on(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	TEST_ASSERT(!sched_setaffinity(tid, sizeof(set), &set),
		    "sched_setaffinity() failed: %s", strerror(errno));
}

/*
 * On one CPU vCPUs yield as often as they can, to one on the other CPU, which
 * competes there with the emulator and with somebody else.
 */
static void two_rqs(u32 delay)
{
	struct used used[3];
	struct dy_vcpu *target;
	struct busy *emulator, *hog;
	u64 sum, vm_ns, yields;
	int vm, i;

	begin(false);
	vm = new_vm();
	for (i = 0; i < 3; i++)
		new_yielder(vm, delay);
	target = new_worker(vm);
	emulator = new_busy(new_group(&t.vm_group[vm], false, "emulator"), 0, 0);
	hog = new_busy(new_group(&base, false, "hog"), 0, 0);
	start_vm(vm);
	run_on(target->tid, cpus[1]);
	run_on(emulator->tid, cpus[1]);
	run_on(hog->tid, cpus[1]);
	used[0] = vcpu_used(target);
	used[1] = busy_used(emulator);
	used[2] = busy_used(hog);
	sum = measure(used, 3, 2000);
	vm_ns = sum - used[2].ns;
	yields = took_effect(vm);
	end();

	ksft_print_msg("vCPUs yield after %u turns, %lu times; on the other CPU:\n",
		       delay, yields);
	ksft_print_msg("  target %.3f, emulator %.3f, bystander %.3f\n",
		       used[0].ns / (double)sum, used[1].ns / (double)sum,
		       used[2].ns / (double)sum);
	expect(sum, "Nobody ran");
	expect(yields >= 100, "Only %lu yields", yields);
	expect(!below(used[1].ns, vm_ns, 0.5),
	       "The emulator got %.3f of what the VM got on that CPU",
	       used[1].ns / (double)vm_ns);
	/* The VM's weight counts on the CPUs together, the bystander's here. */
	expect(!below(used[2].ns, sum, 0.5), "A bystander got %.3f of that CPU",
	       used[2].ns / (double)sum);
}

static void test_two_rqs(void)
{
	two_rqs(YIELD_LATE);
	two_rqs(YIELD_AT_ONCE);
}

/* Throttled vCPUs -------------------------------------------------------- */

/*
 * The only vCPU that the spinner could yield to has used up its quota most of the
 * time.  Then the spinner goes on at once, and is told so.
 */
static void test_throttled(void)
{
	struct dy_vcpu *spin, *throttled;
	u64 tried, effect, sum;
	struct used used[2];
	int vm;

	begin(false);
	vm = new_vm();
	spin = new_yielder(vm, YIELD_AT_ONCE);
	throttled = new_worker(vm);
	start_vcpu(vm, spin);
	dy_cgroup_write(start_vcpu(vm, throttled), "cpu.max", "1000 50000");
	used[0] = vcpu_used(spin);
	used[1] = vcpu_used(throttled);
	sleep_ms(100);
	tried = dy_stat(spin, "dy_tried");
	effect = dy_stat(spin, "dy_took_effect");
	sum = measure(used, 2, 300);
	tried = dy_stat(spin, "dy_tried") - tried;
	effect = dy_stat(spin, "dy_took_effect") - effect;
	end();

	ksft_print_msg("%lu tries, %lu took effect; the spinner had %.3f of the CPU\n",
		       tried, effect, used[0].ns / (double)sum);
	expect(tried >= 1000, "Only %lu tries", tried);
	expect(effect, "No yield took effect, although the quota is refilled");
	expect(effect * 100 <= tried,
	       "Of %lu yields to a vCPU throttled most of the time %lu took effect",
	       tried, effect);
	expect(used[0].ns >= sum * 0.9, "The spinner waited: it had %.3f of the CPU",
	       used[0].ns / (double)sum);
}

/* The yielder's own group ------------------------------------------------ */

/*
 * A thread beside a vCPU that yields all the time, in its group or in that of the
 * emulator: it has its share, or all that it asks for if that is less.
 */
static void beside_yielder(bool with_vcpu, u64 work_ns, u64 period_ns)
{
	struct used used[4];
	u64 sum, yields, start, wanted;
	struct dy_cgroup *cg;
	struct busy *b;
	double fair;
	int vm, i;

	begin(false);
	vm = new_vm();
	new_yielder(vm, YIELD_EARLY);
	new_yielder(vm, YIELD_EARLY);
	new_worker(vm);
	cg = start_vcpu(vm, &t.vm[vm].v[0]);
	for (i = 1; i < 3; i++)
		start_vcpu(vm, &t.vm[vm].v[i]);
	if (!with_vcpu)
		cg = new_group(&t.vm_group[vm], false, "emulator");
	b = new_busy(cg, work_ns, period_ns);
	for (i = 0; i < 3; i++)
		used[i] = vcpu_used(&t.vm[vm].v[i]);
	used[3] = busy_used(b);
	start = clock_ns(CLOCK_MONOTONIC);
	sum = measure(used, 4, 1000);
	wanted = clock_ns(CLOCK_MONOTONIC) - start;
	yields = took_effect(vm);
	end();

	fair = with_vcpu ? 1.0 / 3 / 2 : 1.0 / 4;
	ksft_print_msg("%s group: %.3f of the CPU, %lu yields",
		       with_vcpu ? "vCPU's" : "emulator's",
		       used[3].ns / (double)sum, yields);
	if (period_ns) {
		fair = work_ns / (double)period_ns;
		printf(", %lu of %lu us in each, at worst done after %lu us, %lu late",
		       work_ns / 1000, period_ns / 1000, b->worst_ns / 1000,
		       b->missed);
		expect(!b->missed, "%lu of %lu periods were missed", b->missed,
		       wanted / period_ns);
	}
	printf("\n");
	expect(yields >= 100, "Only %lu yields", yields);
	expect(!below(used[3].ns, sum, fair),
	       "An innocent thread got %.3f of the CPU, less than %.3f",
	       used[3].ns / (double)sum, fair);
}

static void test_innocents(void)
{
	beside_yielder(true, 0, 0);
	beside_yielder(false, 0, 0);
	beside_yielder(true, 1000000, 20000000);
	beside_yielder(false, 1000000, 20000000);
}

/* Refused ---------------------------------------------------------------- */

/*
 * Yields that cannot take effect: the spinner is told so, that it may try others,
 * and goes on.
 */
static void refused(const char *what, int spinner_policy, int target_policy,
		    bool idle_group)
{
	struct dy_vcpu *spin, *target;
	struct dy_cgroup *cg;
	u64 tried, effect;
	int vm;

	begin(false);
	vm = new_vm();
	spin = new_yielder(vm, YIELD_AT_ONCE);
	spin->policy = spinner_policy;
	target = new_worker(vm);
	target->policy = target_policy;
	cg = start_vcpu(vm, target);
	if (idle_group)
		dy_cgroup_write(cg, "cpu.idle", "1");
	sleep_ms(50);
	start_vcpu(vm, spin);
	sleep_ms(50);
	tried = dy_stat(spin, "dy_tried");
	effect = dy_stat(spin, "dy_took_effect");
	sleep_ms(50);
	tried = dy_stat(spin, "dy_tried") - tried;
	effect = dy_stat(spin, "dy_took_effect") - effect;
	end();

	expect(tried >= 100, "%s: only %lu tries", what, tried);
	expect(!effect, "%s: %lu of %lu yields took effect", what, effect, tried);
}

static void test_refused(void)
{
	refused("idle group", SCHED_OTHER, SCHED_OTHER, true);
	refused("SCHED_IDLE target", SCHED_OTHER, SCHED_IDLE, false);
	refused("SCHED_FIFO spinner", SCHED_FIFO, SCHED_OTHER, false);
}

static const struct {
	void (*run)(void);
	const char *name;
	bool two_cpus;
} tests[] = {
	{ test_next_pick, "after a yield the yielder is seldom the next to run" },
	{ test_equal_vms, "two VMs of equal weight get the same, yielding or not" },
	{ test_adversary, "vCPUs that yield to each other keep nobody from the CPU" },
	{ test_weights, "weights hold between and within VMs" },
	{ test_throttled, "a throttled vCPU is not waited for" },
	{ test_innocents, "threads beside a yielding vCPU lose nothing" },
	{ test_refused, "yields to idle vCPUs and of real-time ones are refused" },
	{ test_two_rqs, "vCPUs that yield to one on another CPU keep nobody from it", true },
};

static void leave_base(void)
{
	struct dy_cgroup root;
	char pid[16];

	dy_cgroup_find_root(&root);
	snprintf(pid, sizeof(pid), "%d", getpid());
	dy_cgroup_write(&root, "cgroup.procs", pid);
	dy_cgroup_remove(&base);
}

/* An argument selects tests: those for "1" or "2" CPUs, or a part of the name. */
static bool selected(int argc, char *argv[], int i)
{
	return argc < 2 || atoi(argv[1]) == 1 + tests[i].two_cpus ||
	       strstr(tests[i].name, argv[1]);
}

static void find_cpus(void)
{
	cpu_set_t set;
	int cpu;

	TEST_ASSERT(!sched_getaffinity(0, sizeof(set), &set),
		    "sched_getaffinity() failed");
	for (cpu = 0; cpu < CPU_SETSIZE && nr_cpus < ARRAY_SIZE(cpus); cpu++) {
		if (CPU_ISSET(cpu, &set))
			cpus[nr_cpus++] = cpu;
	}
}

int main(int argc, char *argv[])
{
	char name[32], pid[16];
	int i, nr = 0;

	ksft_print_header();
	dy_require_core();
	__TEST_REQUIRE(dy_trace_has_event("kvm/kvm_directed_yield"),
		       "no tracepoint kvm:kvm_directed_yield");
	__TEST_REQUIRE(kvm_has_cap(KVM_CAP_HYPERV_CPUID),
		       "no Hyper-V emulation in this kernel");
	__TEST_REQUIRE(dy_write_file(FEATURES, "YIELD_LEVEL"),
		       "no scheduler feature YIELD_LEVEL, or no " FEATURES);
	find_cpus();
	dy_pin_to_one_cpu();
	__TEST_REQUIRE(dy_become_fifo(), "SCHED_FIFO is not permitted");
	set_feature("YIELD_PAID", true);

	snprintf(name, sizeof(name), "directed_yield_sched.%d", getpid());
	dy_cgroup_create_base(&base, name);
	snprintf(pid, sizeof(pid), "%d", getpid());
	dy_cgroup_write(&base, "cgroup.procs", pid);

	TEST_ASSERT(dy_trace_open("kvm/kvm_directed_yield") &&
		    dy_trace_write("events/sched/sched_switch/enable", "1"),
		    "Could not set up tracing in %s", dy_tracefs);

	for (i = 0; i < ARRAY_SIZE(tests); i++)
		nr += selected(argc, argv, i);
	ksft_set_plan(nr);
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (!selected(argc, argv, i))
			continue;
		if (tests[i].two_cpus && nr_cpus < 2) {
			ksft_test_result_skip("%s # needs two CPUs\n",
					      tests[i].name);
			continue;
		}
		failed = false;
		tests[i].run();
		ksft_test_result(!failed, "%s\n", tests[i].name);
	}
	leave_base();
	ksft_finished();
}
