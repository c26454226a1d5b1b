// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directed yield: what a spinning vCPU gives its CPU to.
 *
 * All vCPUs share one CPU, so while one of them spins, every other one is
 * known not to run.  Very rarely does a candidate get to run for more than a
 * moment: most are much nicer than the spinner, which does not keep a yield to
 * them from taking effect, and so stay preempted while the spinner exits again
 * and again.  What the core chose is read from its trace event.
 */
#include "directed_yield.h"
#include "hyperv.h"

/*
 * What takes milliseconds if all is well is given up after that many seconds,
 * and sooner once that has happened.
 */
#define TIMEOUT	5

static bool user_pause_exits;

/* Nap until @v's statistic @name has grown by @nr. */
static bool wait_for(struct dy_vcpu *v, const char *name, u64 nr)
{
	u64 start = dy_stat(v, name);
	static bool timed_out;
	double end = dy_now() + (timed_out ? TIMEOUT / 20.0 : TIMEOUT);

	while (dy_stat(v, name) < start + nr) {
		if (dy_now() > end) {
			timed_out = true;
			ksft_print_msg("%s of vCPU %u went up by %lu only, not by %lu\n",
				       name, v->vcpu->id,
				       dy_stat(v, name) - start, nr);
			return false;
		}
		dy_nap();
	}
	return true;
}

/*
 * The spinner first: with the others gone it would go on to yield, but no
 * longer to all of them.
 */
static void stop(struct dy_vm *d, struct dy_vcpu *spin)
{
	bool ok = dy_stop(spin);

	ok &= dy_stop_all(d);
	expect(ok, "A vCPU ended in an unexpected way");
}

/* How often was @v boosted by somebody? */
static int boosts(struct dy_event *ev, int nr, struct dy_vcpu *v)
{
	int i, sum = 0;

	for (i = 0; i < nr; i++)
		sum += ev[i].boosted == (int)v->vcpu->id;
	return sum;
}

/* The statistics of all of @d and the trace must tell the same story. */
static void check_counters(struct dy_vm *d, struct dy_event *ev, int nr)
{
	u64 exits = dy_vm_stat(d, "dy_exits");
	u64 none = dy_vm_stat(d, "dy_no_candidate");
	u64 tried = dy_vm_stat(d, "dy_tried");
	u64 took_effect = dy_vm_stat(d, "dy_took_effect");
	u64 ev_some = 0, ev_tried = 0, ev_boosted = 0;
	int i;

	for (i = 0; i < nr; i++) {
		ev_some += !!ev[i].tried;
		ev_tried += ev[i].tried;
		ev_boosted += ev[i].boosted >= 0;
		expect(ev[i].boosted != (int)ev[i].vcpu,
		       "vCPU %u yielded to itself", ev[i].vcpu);
		expect(ev[i].boosted < 0 || ev[i].tried,
		       "vCPU %d was boosted without a try", ev[i].boosted);
	}

	expect(exits == nr, "dy_exits counts %lu exits, %d were traced",
	       exits, nr);
	expect(exits == none + ev_some,
	       "dy_exits is %lu, but %lu found no candidate and %lu tried one",
	       exits, none, ev_some);
	expect(tried == ev_tried, "dy_tried is %lu, traced are %lu",
	       tried, ev_tried);
	expect(took_effect == ev_boosted, "dy_took_effect is %lu, traced are %lu",
	       took_effect, ev_boosted);
}

static void test_counted(void)
{
	struct dy_vcpu *spin, *work;
	struct dy_event *ev;
	struct dy_vm d;
	int nr;

	dy_vm_init(&d);
	spin = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	work = dy_vcpu_add(&d, dy_guest_work, false, 10);

	dy_trace_start();
	expect(dy_start_wait(work), "The working vCPU does not run");
	dy_start(spin);
	expect(wait_for(spin, "dy_exits", 200), "PAUSEs don't reach the core");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	expect(dy_stat(work, "dy_exits") == 0,
	       "Exits are counted for a vCPU that does not spin");
	expect(boosts(ev, nr, work) * 10 >= nr * 9,
	       "The preempted worker got only %d of %d yields",
	       boosts(ev, nr, work), nr);
	expect(dy_stat(spin, "dy_took_effect") * 10 >=
	       dy_stat(spin, "dy_exits") * 9,
	       "Of %lu spin exits only %lu yielded to the preempted worker",
	       dy_stat(spin, "dy_exits"), dy_stat(spin, "dy_took_effect"));
	free(ev);
	dy_vm_free(&d);
}

static void test_alone(void)
{
	struct dy_vcpu *spin;
	struct dy_event *ev;
	struct dy_vm d;
	int nr;

	dy_vm_init(&d);
	spin = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_exits", 100), "PAUSEs don't reach the core");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	expect(dy_stat(spin, "dy_tried") == 0,
	       "The only vCPU of a VM tried to yield %lu times",
	       dy_stat(spin, "dy_tried"));
	expect(dy_stat(spin, "dy_no_candidate") == dy_stat(spin, "dy_exits"),
	       "%lu exits, but only %lu times nobody to yield to",
	       dy_stat(spin, "dy_exits"), dy_stat(spin, "dy_no_candidate"));
	free(ev);
	dy_vm_free(&d);
}

/*
 * The vCPUs around the spinner and around the only one in kernel mode run at
 * CPL 3, so that whoever takes the first that is ready takes one of those,
 * whichever the last boosted one was.
 */
static void test_kernel_mode_spinner(void)
{
	struct dy_vcpu *spin, *kernel;
	int i, nr, in_kernel = 0, wrong = 0;
	struct dy_event *ev;
	struct dy_vm d;

	dy_vm_init(&d);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	spin = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	kernel = dy_vcpu_add(&d, dy_guest_work, false, 19);
	dy_vcpu_add(&d, dy_guest_work, true, 19);

	for (i = 0; i < d.nr; i++) {
		if (&d.v[i] != spin)
			expect(dy_start_wait(&d.v[i]), "A vCPU does not run");
	}

	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_took_effect", 300),
	       "The preempted kernel-mode vCPU is not found");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i < nr; i++) {
		in_kernel += ev[i].in_kernel;
		wrong += ev[i].boosted >= 0 &&
			 ev[i].boosted != (int)kernel->vcpu->id;
	}
	expect(!wrong,
	       "A spinner in kernel mode boosted vCPUs preempted in user mode %d times",
	       wrong);
	expect(in_kernel == nr,
	       "Only %d of %d exits of a CPL 0 spinner were in kernel mode",
	       in_kernel, nr);
	expect(boosts(ev, nr, kernel) >= 300,
	       "The kernel-mode vCPU was boosted only %d times",
	       boosts(ev, nr, kernel));
	free(ev);
	dy_vm_free(&d);
}

/* With nobody in kernel mode, a kernel-mode spinner keeps its CPU... */
static void test_kernel_mode_spinner_no_candidate(void)
{
	struct dy_event *ev;
	struct dy_vcpu *spin;
	int i, nr, ready = 0;
	struct dy_vm d;

	dy_vm_init(&d);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	spin = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	expect(dy_start_wait(&d.v[0]), "A vCPU does not run");
	expect(dy_start_wait(&d.v[2]), "A vCPU does not run");

	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_exits", 100), "PAUSEs don't reach the core");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i < nr; i++)
		ready += ev[i].ready >= 2;
	expect(ready * 10 >= nr * 9,
	       "Two preempted vCPUs were seen as ready in only %d of %d exits",
	       ready, nr);
	expect(dy_stat(spin, "dy_tried") == 0,
	       "A spinner in kernel mode tried %lu times to yield to user mode",
	       dy_stat(spin, "dy_tried"));
	expect(dy_stat(spin, "dy_no_candidate") == dy_stat(spin, "dy_exits"),
	       "%lu exits, but only %lu times nobody to yield to",
	       dy_stat(spin, "dy_exits"), dy_stat(spin, "dy_no_candidate"));
	free(ev);
	dy_vm_free(&d);
}

/* ...but one in user mode gives it to a vCPU in user mode. */
static void test_user_mode_spinner(void)
{
	struct dy_event *ev;
	struct dy_vcpu *spin;
	int i, nr, in_kernel = 0;
	struct dy_vm d;

	dy_vm_init(&d);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	spin = dy_vcpu_add(&d, dy_guest_spin, true, 0);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	expect(dy_start_wait(&d.v[0]), "A vCPU does not run");
	expect(dy_start_wait(&d.v[2]), "A vCPU does not run");

	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_took_effect", 100),
	       "A spinner in user mode does not yield to user mode");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i < nr; i++)
		in_kernel += ev[i].in_kernel;
	expect(!in_kernel,
	       "%d of %d exits of a CPL 3 spinner were taken for kernel mode",
	       in_kernel, nr);
	expect(boosts(ev, nr, &d.v[0]) >= 25 && boosts(ev, nr, &d.v[2]) >= 25,
	       "Of %d exits the user-mode vCPUs got %d and %d yields", nr,
	       boosts(ev, nr, &d.v[0]), boosts(ev, nr, &d.v[2]));
	free(ev);
	dy_vm_free(&d);
}

/*
 * @n candidates that never do anything but work at CPL 0: on one CPU each is
 * preempted at every exit of the spinner, so none may ever be passed over, and
 * no two counts may differ by more than one.
 */
static void equal_candidates(int n, int spinner)
{
	int i, nr, b, min = INT_MAX, max = 0, last = -1, repeats = 0;
	struct dy_event *ev;
	struct dy_vcpu *spin = NULL;
	struct dy_vm d;
	char counts[128] = "";

	dy_vm_init(&d);
	for (i = 0; i <= n; i++) {
		if (i == spinner)
			spin = dy_vcpu_add(&d, dy_guest_spin, false, 0);
		else
			dy_vcpu_add(&d, dy_guest_work, false, 19);
	}
	for (i = 0; i <= n; i++) {
		if (i != spinner)
			expect(dy_start_wait(&d.v[i]), "A vCPU does not run");
	}

	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_took_effect", 25 * n),
	       "%d preempted vCPUs, and no yields to them", n);
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i <= n; i++) {
		if (i == spinner)
			continue;
		b = boosts(ev, nr, &d.v[i]);
		min = min(min, b);
		max = max(max, b);
		snprintf(counts + strlen(counts),
			 sizeof(counts) - strlen(counts), " %d", b);
	}
	for (i = 0; i < nr; i++) {
		if (ev[i].boosted < 0)
			continue;
		repeats += ev[i].boosted == last;
		last = ev[i].boosted;
	}
	expect(max - min <= 1,
	       "Boosts are uneven over %d equal vCPUs (spinner at index %d):%s",
	       n, spinner, counts);
	expect(!repeats, "%d times in a row the same one of %d equal vCPUs",
	       repeats, n);
	free(ev);
	dy_vm_free(&d);
}

static void test_spread(void)
{
	int n;

	for (n = 2; n <= 6 && !failed; n++)
		equal_candidates(n, n % 3);
}

/* One vCPU works, the four around it spin; boosted[] counts who got yields. */
static void work_and_spinners(int boosted[5])
{
	struct dy_vcpu *work;
	struct dy_event *ev;
	struct dy_vm d;
	int i, nr;

	dy_vm_init(&d);
	for (i = 0; i < 5; i++)
		dy_vcpu_add(&d, i == 2 ? dy_guest_work : dy_guest_spin,
			    false, 0);
	work = &d.v[2];

	dy_trace_start();
	expect(dy_start_wait(work), "The working vCPU does not run");
	for (i = 0; i < d.nr; i++) {
		if (&d.v[i] != work)
			dy_start(&d.v[i]);
	}
	expect(wait_for(&d.v[0], "dy_took_effect", 100), "No yields");
	stop(&d, &d.v[0]);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i < d.nr; i++)
		boosted[i] = boosts(ev, nr, &d.v[i]);
	ksft_print_msg("yields to the working vCPU %d, to those that spin %d %d %d %d\n",
		       boosted[2], boosted[0], boosted[1], boosted[3],
		       boosted[4]);
	free(ev);
	dy_vm_free(&d);
}

/*
 * Spinners that yield to one another help nobody: the working vCPU gets nearly
 * every other yield, where an equal share would be one of four.
 */
static void test_worker_preferred(void)
{
	int i, boosted[5], sum = 0;

	work_and_spinners(boosted);
	for (i = 0; i < 5; i++)
		sum += boosted[i];
	expect(boosted[2] * 5 >= sum * 2,
	       "Of %d yields the only vCPU that works got %d", sum, boosted[2]);
}

/* But any of them may be the next in the queue for a FIFO lock. */
static void test_no_spinner_starves(void)
{
	int i, boosted[5], sum = 0;

	work_and_spinners(boosted);
	for (i = 0; i < 5; i++) {
		if (i != 2)
			sum += boosted[i];
	}
	for (i = 0; i < 5; i++)
		expect(i == 2 || boosted[i] * 16 >= sum,
		       "Of %d yields to 4 spinning vCPUs number %d got %d",
		       sum, i, boosted[i]);
}

/*
 * The spinner wakes a sleeping vCPU with an IPI and waits for the answer.  On
 * one CPU, and as SCHED_BATCH, the woken one does not preempt the spinner, but
 * waits for its turn; it is not preempted at any time.
 */
static void test_woken_sleeper(void)
{
	const int rounds = 100;
	struct dy_vcpu *spin, *woken, *asleep;
	double end = dy_now() + TIMEOUT;
	struct dy_event *ev;
	int nr, b, done;
	struct dy_vm d;

	dy_vm_init(&d);
	asleep = dy_vcpu_add(&d, dy_guest_sleep, false, 0);
	spin = dy_vcpu_add(&d, dy_guest_ipi, false, 0);
	dy_vcpu_add(&d, dy_guest_sleep, false, 0);
	woken = dy_vcpu_add(&d, dy_guest_sleep, false, 0);
	dy_vcpu_add(&d, dy_guest_sleep, false, 0);
	woken->policy = SCHED_BATCH;
	spin->block->icr2 = woken->vcpu->id << 24;
	spin->block->answer = DY_BLOCK_GPA + 3 * sizeof(struct dy_block) +
			      offsetof(struct dy_block, irqs);

	expect(dy_start_wait(asleep), "A vCPU does not run");
	expect(dy_start_wait(&d.v[2]), "A vCPU does not run");
	expect(dy_start_wait(woken), "A vCPU does not run");
	expect(dy_start_wait(&d.v[4]), "A vCPU does not run");
	usleep(20000);

	dy_trace_start();
	dy_start(spin);
	while (READ_ONCE(woken->block->irqs) < rounds && dy_now() < end)
		dy_nap();
	done = READ_ONCE(woken->block->irqs);
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	expect(done >= rounds, "Only %d of %d IPIs were handled in %d s",
	       done, rounds, TIMEOUT);
	b = boosts(ev, nr, woken);
	ksft_print_msg("%d IPIs, %d spin exits, %d boosts of the woken vCPU\n",
		       done, nr, b);
	/* It may get its turn before the spinner exits, but not every time. */
	expect(b >= rounds / 4,
	       "A sleeping vCPU was woken %d times, but boosted only %d times",
	       done, b);
	expect(b * 10 >= nr * 9,
	       "A woken vCPU was passed over in %d of %d exits of the one that waits for it",
	       nr - b, nr);
	expect(b == dy_vm_stat(&d, "dy_took_effect"),
	       "vCPUs that sleep without an event were boosted %lu times",
	       dy_vm_stat(&d, "dy_took_effect") - b);
	expect(dy_vm_stat(&d, "dy_tried") == dy_vm_stat(&d, "dy_took_effect"),
	       "%lu tries to yield to vCPUs that sleep without an event",
	       dy_vm_stat(&d, "dy_tried") - dy_vm_stat(&d, "dy_took_effect"));
	expect(READ_ONCE(asleep->block->irqs) == 0 &&
	       READ_ONCE(asleep->block->count) == 1,
	       "The sleeping vCPU was woken");
	free(ev);
	dy_vm_free(&d);
}

/* Nothing that is off may try to yield; what is on does. */
static void check_switched(struct dy_vcpu *spin, bool on, const char *what)
{
	u64 tried, took_effect;

	/* An exit that began before the switch may still end after it. */
	expect(wait_for(spin, "dy_exits", 2), "%s: no spin exits", what);
	tried = dy_stat(spin, "dy_tried");
	took_effect = dy_stat(spin, "dy_took_effect");
	if (on) {
		expect(wait_for(spin, "dy_took_effect", 20),
		       "%s: no yields", what);
		return;
	}
	expect(wait_for(spin, "dy_exits", 50), "%s: no spin exits", what);
	expect(dy_stat(spin, "dy_tried") == tried &&
	       dy_stat(spin, "dy_took_effect") == took_effect,
	       "%s: tried %lu more times to yield, %lu took effect", what,
	       dy_stat(spin, "dy_tried") - tried,
	       dy_stat(spin, "dy_took_effect") - took_effect);
}

static int traced_by(struct dy_event *ev, int nr, struct dy_vcpu *v)
{
	int i, sum = 0;

	for (i = 0; i < nr; i++)
		sum += ev[i].tid == v->tid;
	return sum;
}

static void check_reads(const char *path, const char *want)
{
	char val[16] = "";

	expect(dy_read_file(path, val, sizeof(val)) && !strcmp(val, want),
	       "%s reads \"%s\" instead of \"%s\"", path, val, want);
}

static void test_switch(void)
{
	struct dy_vcpu *spin[2];
	char path[2][128], old[16];
	struct dy_event *ev;
	struct dy_vm d[2];
	int i, nr;

	expect(dy_read_file(DY_SWITCH, old, sizeof(old)),
	       "Could not read " DY_SWITCH);

	for (i = 0; i < 2; i++) {
		dy_vm_init(&d[i]);
		spin[i] = dy_vcpu_add(&d[i], dy_guest_spin, false, 0);
		dy_vcpu_add(&d[i], dy_guest_work, false, 10);
		snprintf(path[i], sizeof(path[i]), "%s/directed_yield",
			 d[i].debugfs);
		expect(dy_start_wait(&d[i].v[1]), "A vCPU does not run");
		dy_start(spin[i]);
		check_reads(path[i], "Y");
	}
	check_switched(spin[0], true, "as booted");
	check_switched(spin[1], true, "as booted");

	/* The whole module. */
	expect(dy_write_file(DY_SWITCH, "off"), "Could not switch off");
	check_reads(DY_SWITCH, "N");
	check_switched(spin[0], false, "module off");
	dy_trace_start();
	check_switched(spin[1], false, "module off");
	nr = dy_trace_yields(&ev);
	expect(!nr, "%d trace events although switched off", nr);
	free(ev);
	expect(dy_write_file(DY_SWITCH, "on"), "Could not switch on");
	check_reads(DY_SWITCH, "Y");
	check_switched(spin[0], true, "module on again");
	check_switched(spin[1], true, "module on again");

	/* Just one VM. */
	expect(dy_write_file(path[0], "N"), "Could not write %s", path[0]);
	check_reads(path[0], "N");
	check_reads(path[1], "Y");
	check_switched(spin[0], false, "this VM off");
	dy_trace_start();
	check_switched(spin[1], true, "the other VM off");
	nr = dy_trace_yields(&ev);
	expect(traced_by(ev, nr, spin[1]), "No trace events, the other VM is off");
	expect(!traced_by(ev, nr, spin[0]), "%d trace events of a VM switched off",
	       traced_by(ev, nr, spin[0]));
	free(ev);
	expect(dy_write_file(path[0], "Y"), "Could not write %s", path[0]);
	check_switched(spin[0], true, "this VM on again");

	for (i = 0; i < 2; i++) {
		stop(&d[i], spin[i]);
		dy_vm_free(&d[i]);
	}
	expect(dy_write_file(DY_SWITCH, old), "Could not restore " DY_SWITCH);
	check_reads(DY_SWITCH, old);
}

/* Hyper-V guests don't wait for a PAUSE exit, but tell us that they spin. */
static void test_hyperv_long_spin_wait(void)
{
	struct dy_vcpu *spin, *work;
	struct dy_event *ev;
	int i, nr, in_kernel = 0;
	struct dy_vm d;

	dy_vm_init(&d);
	dy_vcpu_add(&d, dy_guest_work, true, 19);
	spin = dy_vcpu_add(&d, host_cpu_is_amd ? dy_guest_hv_amd :
						 dy_guest_hv_intel, false, 0);
	work = dy_vcpu_add(&d, dy_guest_work, false, 10);
	vcpu_set_hv_cpuid(spin->vcpu);
	vcpu_set_msr(spin->vcpu, HV_X64_MSR_GUEST_OS_ID, HYPERV_LINUX_OS_ID);
	vcpu_set_msr(spin->vcpu, HV_X64_MSR_HYPERCALL, DY_HV_GPA | 1);

	expect(dy_start_wait(&d.v[0]), "A vCPU does not run");
	expect(dy_start_wait(work), "The working vCPU does not run");
	dy_trace_start();
	dy_start(spin);
	expect(wait_for(spin, "dy_took_effect", 100),
	       "HvNotifyLongSpinWait does not yield");
	stop(&d, spin);
	nr = dy_trace_yields(&ev);

	check_counters(&d, ev, nr);
	for (i = 0; i < nr; i++)
		in_kernel += ev[i].in_kernel;
	/* The very last one may have been counted by the host only. */
	expect(dy_stat(spin, "dy_exits") - spin->block->count <= 1,
	       "%u long spin waits, %lu spin exits", spin->block->count,
	       dy_stat(spin, "dy_exits"));
	expect(in_kernel == nr,
	       "Only %d of %d long spin waits were in kernel mode",
	       in_kernel, nr);
	expect(boosts(ev, nr, work) == dy_stat(spin, "dy_took_effect"),
	       "%lu yields, but only %d to the kernel-mode vCPU",
	       dy_stat(spin, "dy_took_effect"), boosts(ev, nr, work));
	free(ev);
	dy_vm_free(&d);
}

static bool has_user_pause_exits(void)
{
	return user_pause_exits;
}

static bool has_hyperv(void)
{
	return kvm_has_cap(KVM_CAP_HYPERV_CPUID);
}

static const struct {
	void (*run)(void);
	bool (*can_run)(void);
	const char *name;
	const char *skip_reason;
} tests[] = {
	{ test_counted, NULL,
	  "PAUSE exits are counted, and traced one by one" },
	{ test_alone, NULL,
	  "the only vCPU of a VM yields to nobody" },
	{ test_kernel_mode_spinner, NULL,
	  "a kernel-mode spinner boosts the vCPU preempted in kernel mode only" },
	{ test_kernel_mode_spinner_no_candidate, NULL,
	  "a kernel-mode spinner does not boost user-mode vCPUs" },
	{ test_user_mode_spinner, has_user_pause_exits,
	  "a user-mode spinner boosts user-mode vCPUs",
	  "PAUSEs in user mode don't exit on this CPU" },
	{ test_spread, NULL,
	  "boosts are spread evenly over equal candidates" },
	{ test_worker_preferred, NULL,
	  "the vCPU that works is preferred to those that spin" },
	{ test_no_spinner_starves, NULL,
	  "each of the vCPUs that spin is boosted as well" },
	{ test_woken_sleeper, NULL,
	  "a woken vCPU is boosted before it ever ran, a sleeping one never" },
	{ test_switch, NULL,
	  "directed yield can be switched for the module and per VM" },
	{ test_hyperv_long_spin_wait, has_hyperv,
	  "HvNotifyLongSpinWait is a spin exit",
	  "no Hyper-V emulation in this kernel" },
};

int main(int argc, char *argv[])
{
	int i;

	ksft_print_header();
	dy_require_core();
	__TEST_REQUIRE(dy_trace_has_event("kvm/kvm_directed_yield"),
		       "no tracepoint kvm:kvm_directed_yield");
	dy_pin_to_one_cpu();
	__TEST_REQUIRE(dy_become_fifo(), "SCHED_FIFO is not permitted");
	__TEST_REQUIRE(dy_pause_exits(false),
		       "PAUSEs don't reach KVM on this host (no pause filter, no PLE)");
	user_pause_exits = dy_pause_exits(true);
	TEST_ASSERT(dy_trace_open("kvm/kvm_directed_yield"),
		    "Could not set up tracing in %s", dy_tracefs);

	ksft_set_plan(ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		if (tests[i].can_run && !tests[i].can_run()) {
			ksft_test_result_skip("%s # %s\n", tests[i].name,
					      tests[i].skip_reason);
			continue;
		}
		failed = false;
		tests[i].run();
		ksft_test_result(!failed, "%s\n", tests[i].name);
	}
	ksft_finished();
}
