// SPDX-License-Identifier: GPL-2.0-only
/*
 * The software pause filter of kvm_amd: which PAUSEs reach directed yield.
 *
 * With a window of N the first N PAUSEs that follow one another within the
 * threshold are absorbed and the next one reaches the core, which grows the
 * window.  The window is back at pause_filter_count after the vCPU's thread
 * was scheduled out.  What is expected is computed from the parameters that
 * the module was loaded with.
 */
#include "directed_yield.h"
#include "svm_util.h"

/*
 * The host's own interrupts can come between two PAUSEs and restart the
 * count.  The guest sees them as a gap; such attempts are repeated.
 */
#define ATTEMPTS	50

static unsigned int count, thresh, grow, shrink, max_count;

static unsigned int grown(unsigned int window)
{
	u64 val = window;

	if (grow < 1)
		return count;
	if (grow < count)
		val *= grow;
	else
		val += grow;
	return min_t(u64, val, max_count);
}

static unsigned int shrunk(unsigned int window)
{
	if (shrink < 1)
		return count;
	if (shrink < count)
		window /= shrink;
	else
		window = window > shrink ? window - shrink : 0;
	return max(window, count);
}

/* The number of PAUSEs after which a new vCPU has reached the core @exits times. */
static unsigned int pauses_for(unsigned int exits)
{
	unsigned int window = count, sum = 0;

	while (exits--) {
		sum += window + 1;
		window = grown(window);
	}
	return sum;
}

struct result {
	u64 exits;
	u32 max_gap;
	bool reset;
};

/*
 * Issue exactly @pauses PAUSEs, @delay cycles apart, on a new vCPU that nobody
 * preempts.
 */
static struct result pauses(unsigned int pauses, u32 delay, bool exiting)
{
	unsigned int old, new, id;
	char line[512], *text;
	struct result res = {};
	struct kvm_vm *vm;
	struct dy_vcpu *v;
	struct dy_vm d;
	pid_t tid;
	FILE *f;

	vm = vm_create_barebones();
	if (!exiting)
		vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS,
			      KVM_X86_DISABLE_EXITS_PAUSE);
	dy_vm_init_vm(&d, vm);
	v = dy_vcpu_add(&d, dy_guest_pause, false, 0);
	v->policy = SCHED_FIFO;
	v->block->limit = pauses;
	v->block->delay = delay;

	dy_trace_start();
	dy_start(v);
	expect(dy_join(v), "The vCPU ended in an unexpected way");
	f = dy_trace_stop();
	while ((text = dy_trace_next(f, "kvm_ple_window_update: ", line,
				     sizeof(line), &tid))) {
		if (sscanf(text, "vcpu %u old %u new %u", &id, &old, &new) == 3 &&
		    id == v->vcpu->id && new < old)
			res.reset = true;
	}
	fclose(f);

	expect(v->block->count == pauses, "%u PAUSEs were issued instead of %u",
	       v->block->count, pauses);
	res.exits = dy_stat(v, "dy_exits");
	res.max_gap = v->block->max_gap;
	dy_vm_free(&d);
	return res;
}

static void expect_exits(unsigned int nr, u32 delay, unsigned int exits,
			 const char *what)
{
	u32 shortest = UINT_MAX;
	struct result res;
	int i;

	for (i = 0; i < ATTEMPTS; i++) {
		res = pauses(nr, delay, true);
		if (!res.reset && (!thresh || res.max_gap < thresh))
			break;
		shortest = min(shortest, res.max_gap);
	}
	if (i == ATTEMPTS) {
		ksft_print_msg("%s: gaps of %u cycles or more, the threshold is %u\n",
			       what, shortest, thresh);
		failed = true;
		return;
	}
	expect(res.exits == exits,
	       "%s: %u PAUSEs at most %u cycles apart reached the core %lu times instead of %u",
	       what, nr, res.max_gap, res.exits, exits);
}

static void test_count(void)
{
	int i;

	expect_exits(count, 0, 0, "as many PAUSEs as the filter absorbs");
	expect_exits(count + 1, 0, 1, "one PAUSE more");
	for (i = 2; i <= 5; i++) {
		expect_exits(pauses_for(i) - 1, 0, i - 1, "up to the next window");
		expect_exits(pauses_for(i), 0, i, "beyond the next window");
	}
}

static void test_threshold(void)
{
	struct result res;

	if (!thresh) {
		expect_exits(pauses_for(2), 100000, 2,
			     "far apart, but no threshold");
		return;
	}
	res = pauses(20 * (count + 1), 2 * thresh, true);
	expect(res.exits == 0,
	       "PAUSEs %u cycles apart, with a threshold of %u, reached the core %lu times",
	       2 * thresh, thresh, res.exits);
	expect_exits(pauses_for(2), thresh / 2, 2, "half the threshold apart");
}

static void test_disabled(void)
{
	struct result res = pauses(100 * (count + 1), 0, false);

	expect(res.exits == 0,
	       "With KVM_X86_DISABLE_EXITS_PAUSE %lu PAUSEs reached the core",
	       res.exits);
}

/* A spinning vCPU that is preempted all the time, by the host's side. */
static void test_window(void)
{
	unsigned int id, old, new, last = count;
	int grows = 0, resets = 0, nr = 0;
	double end = dy_now() + 5;
	char line[512], *text;
	struct dy_vcpu *v;
	struct dy_vm d;
	pid_t tid;
	FILE *f;

	dy_vm_init(&d);
	v = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	dy_trace_start();
	dy_start(v);
	while (dy_stat(v, "dy_exits") < 50 && dy_now() < end)
		dy_nap();
	expect(dy_stop(v), "The vCPU ended in an unexpected way");
	f = dy_trace_stop();
	while ((text = dy_trace_next(f, "kvm_ple_window_update: ", line,
				     sizeof(line), &tid))) {
		if (sscanf(text, "vcpu %u old %u new %u", &id, &old, &new) != 3 ||
		    id != v->vcpu->id)
			continue;
		expect(old == last, "Window change %d is from %u, the one before was to %u",
		       nr, old, last);
		expect(new <= max_count, "The window became %u, the maximum is %u",
		       new, max_count);
		if (new > old) {
			grows++;
			expect(new == grown(old), "The window grew from %u to %u instead of %u",
			       old, new, grown(old));
		} else {
			resets++;
			expect(new == shrunk(old), "The window fell from %u to %u instead of %u",
			       old, new, shrunk(old));
		}
		last = new;
		nr++;
	}
	fclose(f);
	expect(grows >= 10, "In %lu exits the window grew %d times",
	       dy_stat(v, "dy_exits"), grows);
	expect(resets >= 10,
	       "The window was reset %d times although the vCPU was scheduled out again and again",
	       resets);
	dy_vm_free(&d);
}

static bool window_changes(void)
{
	return grown(count) != count;
}

/* Nested. */
#define L2_STACK_SIZE	256
#define L2_PAUSES	500

static void l2_guest_code(struct svm_test_data *svm)
{
	int i;

	for (i = 0; i < L2_PAUSES; i++)
		asm volatile("pause" : : : "memory");
	vmmcall();
}

static void l1_guest_code(struct svm_test_data *svm, bool intercept)
{
	unsigned long l2_stack[L2_STACK_SIZE];
	struct vmcb *vmcb = svm->vmcb;
	unsigned int nr = 0;

	generic_svm_setup(svm, l2_guest_code, &l2_stack[L2_STACK_SIZE]);
	if (intercept)
		vmcb->control.intercept |= BIT_ULL(INTERCEPT_PAUSE);

	for (;;) {
		run_guest(vmcb, svm->vmcb_gpa);
		if (vmcb->control.exit_code != SVM_EXIT_PAUSE)
			break;
		vmcb->save.rip += 2;
		nr++;
	}
	GUEST_ASSERT_EQ(vmcb->control.exit_code, SVM_EXIT_VMMCALL);
	GUEST_SYNC(nr);
	GUEST_DONE();
}

static u64 run_nested(bool intercept, u64 *exits)
{
	struct dy_stats stats;
	struct kvm_vcpu *vcpu;
	vm_vaddr_t svm_gva;
	struct kvm_vm *vm;
	u64 seen = 0;
	struct ucall uc;

	vm = vm_create_with_one_vcpu(&vcpu, l1_guest_code);
	vcpu_alloc_svm(vm, &svm_gva);
	vcpu_args_set(vcpu, 2, svm_gva, intercept);
	dy_stats_open(&stats, vcpu);

	for (;;) {
		vcpu_run(vcpu);
		TEST_ASSERT_KVM_EXIT_REASON(vcpu, KVM_EXIT_IO);
		switch (get_ucall(vcpu, &uc)) {
		case UCALL_ABORT:
			REPORT_GUEST_ASSERT(uc);
			break;
		case UCALL_SYNC:
			seen = uc.args[1];
			continue;
		case UCALL_DONE:
			break;
		default:
			TEST_FAIL("Unknown ucall 0x%lx", uc.cmd);
		}
		break;
	}
	TEST_ASSERT(dy_stats_read(&stats, "dy_exits", exits), "No dy_exits");
	dy_stats_close(&stats);
	kvm_vm_free(vm);
	return seen;
}

static void test_nested_intercept(void)
{
	u64 exits, seen;

	seen = run_nested(true, &exits);
	expect(seen == L2_PAUSES,
	       "A hypervisor that intercepts PAUSE got %lu of its guest's %u PAUSEs",
	       seen, L2_PAUSES);
	expect(exits == 0,
	       "%lu PAUSEs that belong to the nested hypervisor reached the core",
	       exits);
}

static void test_nested_no_intercept(void)
{
	u64 exits = 0, seen;
	int i;

	for (i = 0; i < ATTEMPTS && !exits; i++) {
		seen = run_nested(false, &exits);
		expect(!seen,
		       "A hypervisor that does not intercept PAUSE got %lu PAUSE exits",
		       seen);
	}
	expect(exits > 0, "PAUSEs of a nested guest don't reach the core");
	expect(exits <= L2_PAUSES / (count + 1),
	       "%u PAUSEs of a nested guest reached the core %lu times",
	       L2_PAUSES, exits);
}

static bool nested(void)
{
	return kvm_cpu_has(X86_FEATURE_SVM);
}

static bool nested_enough(void)
{
	return nested() && L2_PAUSES > 2 * count;
}

static const struct {
	void (*run)(void);
	bool (*can_run)(void);
	const char *name;
	const char *skip_reason;
} tests[] = {
	{ test_count, NULL,
	  "PAUSEs up to the window are absorbed, the next one is not" },
	{ test_threshold, NULL,
	  "PAUSEs further apart than the threshold restart the count" },
	{ test_disabled, NULL,
	  "no PAUSE exits with KVM_X86_DISABLE_EXITS_PAUSE" },
	{ test_window, window_changes,
	  "the window grows with each exit and is reset after a preemption",
	  "the parameters leave the window as it is" },
	{ test_nested_intercept, nested,
	  "a nested hypervisor that intercepts PAUSE gets every PAUSE",
	  "no nested SVM" },
	{ test_nested_no_intercept, nested_enough,
	  "PAUSEs of a nested guest reach the core if not intercepted",
	  "no nested SVM, or a large pause_filter_count" },
};

static unsigned int param(const char *name)
{
	char path[128], val[32];

	snprintf(path, sizeof(path), "/sys/module/kvm_amd/parameters/%s", name);
	TEST_ASSERT(dy_read_file(path, val, sizeof(val)), "Could not read %s",
		    path);
	return strtoul(val, NULL, 0);
}

int main(int argc, char *argv[])
{
	static const char software[] =
		"/sys/module/kvm_amd/parameters/pause_filter_software";
	char val[8] = "";
	int i;

	ksft_print_header();
	__TEST_REQUIRE(!access("/sys/module/kvm_amd", F_OK) && host_cpu_is_amd,
		       "not an AMD host");
	__TEST_REQUIRE(dy_read_file(software, val, sizeof(val)),
		       "kvm_amd has no software pause filter");
	__TEST_REQUIRE(*val == 'Y', "kvm_amd.pause_filter_software is off");
	__TEST_REQUIRE(!this_cpu_has(X86_FEATURE_PAUSEFILTER),
		       "the CPU has a pause filter of its own");
	dy_require_core();
	dy_pin_to_one_cpu();
	__TEST_REQUIRE(dy_become_fifo(), "SCHED_FIFO is not permitted");

	count = param("pause_filter_count");
	thresh = param("pause_filter_thresh");
	grow = param("pause_filter_count_grow");
	shrink = param("pause_filter_count_shrink");
	max_count = param("pause_filter_count_max");
	ksft_print_msg("count %u, threshold %u, grow %u, shrink %u, maximum %u\n",
		       count, thresh, grow, shrink, max_count);
	__TEST_REQUIRE(count, "pause_filter_count is 0");
	TEST_ASSERT(dy_trace_open("kvm/kvm_ple_window_update"),
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
