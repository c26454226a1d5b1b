// SPDX-License-Identifier: GPL-2.0
/*
 * A VM with more vCPUs than CPUs that contends on one lock: the workload that
 * directed yield exists for.  Used as a benchmark and as a load for tests.
 *
 * Each VM is a process of its own, as in real life: its main thread plays the
 * emulator, and each vCPU has a thread.  The parent sets everything up, waits
 * until all vCPUs stand at the starting line, releases them at once, and
 * prints one line per run:
 *
 *	DYLOAD key=value key=value ...
 *
 * Time is that of the host, since guests' clocks cannot be trusted everywhere.
 * A run is only reported if the work was done, mutual exclusion held and, where
 * directed yield was meant to take part, a spin exit was seen.
 */
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "directed_yield_cgroup.h"
#include "directed_yield_locks.h"
#include "directed_yield_stats.h"
#include "directed_yield_workload.h"
#include "kvm_util.h"
#include "processor.h"
#include "test_util.h"

#define MAX_VMS		8

static struct options {
	u32 vcpus;
	u32 vms;
	u32 iterations;
	u32 critical;
	u32 noncritical;
	enum dy_lock_kind lock;
	u32 first_seed;
	u32 last_seed;
	u32 cpus;
	u32 hog_vcpus;
	u32 cap_ms;
	bool cgroup;
	bool pause_in_guest;
	bool ideal;
} opt = {
	.vcpus = 4,
	.vms = 1,
	.iterations = 1000,
	.critical = 5000,
	.noncritical = 5000,
	.lock = DY_LOCK_TICKET,
	.first_seed = 1,
	.last_seed = 1,
};

struct vm_result {
	bool done;
	bool capped;
	u64 end_ns;
	u64 cpu_ns;
	/* CPU time of the hog VM when this VM's last vCPU finished. */
	u64 hog_cpu_ns;
	u64 acquired;
	u64 counter;
	u64 violations;
	u64 pauses;
	s64 stats[NR_DY_STATS];
};

/* Shared by the parent and the processes of the VMs. */
static struct shared {
	pthread_barrier_t release;
	pthread_barrier_t finish;
	u64 start_ns;
	clockid_t hog_clock;
	struct vm_result vm[MAX_VMS];
} *shared;

/*
 * Host side, in the process of a VM.
 */

struct vcpu_thread {
	pthread_t thread;
	struct kvm_vcpu *vcpu;
	u64 end_ns;
	u64 cpu_ns;
	u64 hog_cpu_ns;
};

static struct vm_process {
	const struct dy_cgroup *cgroup;
	struct kvm_vm *vm;
	u32 nr_vcpus;
	pthread_mutex_t warming;
	sem_t warm;
	sem_t done;
	struct vcpu_thread threads[MAX_VCPUS];
} me;

static u64 clock_ns(clockid_t clock)
{
	struct timespec ts;

	TEST_ASSERT(!clock_gettime(clock, &ts), "clock_gettime(%d) failed: %s",
		    clock, strerror(errno));
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static void arch_pause_in_guest(struct kvm_vm *vm)
{
#ifdef __x86_64__
	TEST_ASSERT(vm_check_cap(vm, KVM_CAP_X86_DISABLE_EXITS) &
		    KVM_X86_DISABLE_EXITS_PAUSE,
		    "this host cannot leave PAUSE to the guest");
	vm_enable_cap(vm, KVM_CAP_X86_DISABLE_EXITS, KVM_X86_DISABLE_EXITS_PAUSE);
#else
	TEST_FAIL("spin hints cannot be left to the guest per VM here");
#endif
}

static void vcpu_run_until(struct kvm_vcpu *vcpu, u64 cmd)
{
	struct ucall uc;
	u64 got;

	vcpu_run(vcpu);
	got = get_ucall(vcpu, &uc);
	if (got == UCALL_ABORT)
		REPORT_GUEST_ASSERT(uc);
	if (got != cmd) {
		vcpu_dump(stderr, vcpu, 2);
		TEST_FAIL("vCPU %u: unexpected exit: %s, ucall %lu", vcpu->id,
			  exit_reason_str(vcpu->run->exit_reason), got);
	}
}

static void *vcpu_thread_fn(void *arg)
{
	struct vcpu_thread *t = arg;
	u64 cpu_ns;

	if (me.cgroup)
		dy_cgroup_enter_vcpu(me.cgroup, t->vcpu->id);

	pthread_mutex_lock(&me.warming);
	vcpu_run_until(t->vcpu, UCALL_SYNC);
	pthread_mutex_unlock(&me.warming);

	cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	sem_post(&me.warm);
	pthread_barrier_wait(&shared->release);

	vcpu_run_until(t->vcpu, UCALL_DONE);

	t->end_ns = clock_ns(CLOCK_MONOTONIC);
	t->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	if (opt.hog_vcpus)
		t->hog_cpu_ns = clock_ns(shared->hog_clock);
	sem_post(&me.done);
	return NULL;
}

static void *hog_thread_fn(void *arg)
{
	struct vcpu_thread *t = arg;

	if (me.cgroup)
		dy_cgroup_enter_vcpu(me.cgroup, t->vcpu->id);
	vcpu_run(t->vcpu);
	TEST_FAIL("a vCPU of the hog VM has left the guest: %s",
		  exit_reason_str(t->vcpu->run->exit_reason));
}

static void start_vm(const struct dy_cgroup *cgroup, u32 nr_vcpus,
		     void *code, void *(*thread_fn)(void *))
{
	u32 i;

	me.cgroup = cgroup;
	me.nr_vcpus = nr_vcpus;
	if (cgroup)
		dy_cgroup_enter_vm(cgroup);

	pthread_mutex_init(&me.warming, NULL);
	sem_init(&me.warm, 0, 0);
	sem_init(&me.done, 0, 0);

	me.vm = vm_create(nr_vcpus);
	if (opt.pause_in_guest)
		arch_pause_in_guest(me.vm);
	for (i = 0; i < nr_vcpus; i++) {
		me.threads[i].vcpu = vm_vcpu_add(me.vm, i, code);
		vcpu_args_set(me.threads[i].vcpu, 1, i);
	}
	sync_global_to_guest(me.vm, guest);

	for (i = 0; i < nr_vcpus; i++)
		TEST_ASSERT(!pthread_create(&me.threads[i].thread, NULL,
					    thread_fn, &me.threads[i]),
			    "cannot create the thread of vCPU %u", i);
}

/* Add the statistics of all vCPUs to @stats, or subtract them. */
static void vm_read_stats(s64 *stats, int sign)
{
	u32 i;

	for (i = 0; i < me.nr_vcpus; i++)
		dy_read_vcpu_stats(me.threads[i].vcpu, stats, sign);
}

/* Wait for all vCPUs to finish; tell them to stop when time is up. */
static bool wait_for_vcpus(void)
{
	bool capped = false;
	struct timespec ts;
	u32 finished = 0;
	u64 deadline;
	int rc;

	deadline = shared->start_ns + opt.cap_ms * 1000000ull;
	ts.tv_sec = deadline / NSEC_PER_SEC;
	ts.tv_nsec = deadline % NSEC_PER_SEC;

	while (finished < me.nr_vcpus) {
		if (opt.cap_ms && !capped)
			rc = sem_clockwait(&me.done, CLOCK_MONOTONIC, &ts);
		else
			rc = sem_wait(&me.done);

		if (!rc) {
			finished++;
		} else if (errno != EINTR) {
			TEST_ASSERT(errno == ETIMEDOUT, "waiting failed: %s",
				    strerror(errno));
			capped = true;
			write_guest_global(me.vm, guest.stop, 1);
		}
	}
	return capped;
}

static void collect(struct vm_result *res)
{
	struct vcpu_thread *t;
	u32 i;

	sync_global_from_guest(me.vm, guest);
	for (i = 0; i < me.nr_vcpus; i++) {
		t = &me.threads[i];
		res->cpu_ns += t->cpu_ns;
		if (t->end_ns >= res->end_ns) {
			res->end_ns = t->end_ns;
			res->hog_cpu_ns = t->hog_cpu_ns;
		}
		res->acquired += guest.vcpu[i].acquired;
		res->pauses += guest.vcpu[i].waiter.pauses;
	}
	res->counter = guest.counter;
	res->violations = guest.violations;
}

static void run_lock_vm(int index, const struct dy_cgroup *cgroup, int ready_fd)
{
	struct vm_result *res = &shared->vm[index];
	u32 i;

	guest.seed += index * 1000003u;
	start_vm(cgroup, opt.ideal ? opt.cpus : opt.vcpus, guest_code,
		 vcpu_thread_fn);
	for (i = 0; i < me.nr_vcpus; i++)
		sem_wait(&me.warm);
	vm_read_stats(res->stats, -1);

	test_write(ready_fd, "", 1);
	pthread_barrier_wait(&shared->release);
	res->capped = wait_for_vcpus();
	for (i = 0; i < me.nr_vcpus; i++)
		pthread_join(me.threads[i].thread, NULL);

	/* Tearing a VM down would disturb those that are still running. */
	pthread_barrier_wait(&shared->finish);

	vm_read_stats(res->stats, 1);
	collect(res);
	res->done = true;
}

static void run_hog_vm(const struct dy_cgroup *cgroup, int ready_fd)
{
	struct guest *g;
	u32 i;

	start_vm(cgroup, opt.hog_vcpus, guest_hog_code, hog_thread_fn);
	g = addr_gva2hva(me.vm, (vm_vaddr_t)&guest);
	for (i = 0; i < me.nr_vcpus; i++) {
		/* Some milliseconds of work, not merely the first instruction. */
		while (READ_ONCE(g->vcpu[i].heartbeat) < 1000)
			usleep(1000);
	}
	test_write(ready_fd, "", 1);
	for (;;)
		pause();
}

/*
 * Host side, in the parent.
 */

static struct {
	pid_t parent;
	pid_t vm[MAX_VMS];
	pid_t hog;
	bool has_base;
	struct dy_cgroup base;
	struct dy_cgroup vm_cgroup[MAX_VMS];
	struct dy_cgroup hog_cgroup;
} run;

static void reap(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

/* Also called at exit, whatever the reason. */
static void clean_up(void)
{
	bool ok = true;
	u32 i;

	if (getpid() != run.parent)
		return;

	for (i = 0; i < opt.vms; i++)
		reap(&run.vm[i]);
	reap(&run.hog);

	if (!run.has_base)
		return;
	run.has_base = false;
	for (i = 0; i < opt.vms; i++)
		ok &= dy_cgroup_remove_vm(&run.vm_cgroup[i], opt.vcpus);
	if (opt.hog_vcpus)
		ok &= dy_cgroup_remove_vm(&run.hog_cgroup, opt.hog_vcpus);
	ok &= dy_cgroup_remove(&run.base);
	if (!ok)
		fprintf(stderr, "could not remove all groups below %s\n",
			run.base.path);
}

static void create_cgroups(void)
{
	char name[64];
	u32 i;

	snprintf(name, sizeof(name), "directed_yield_load.%d", getpid());
	dy_cgroup_create_base(&run.base, name);
	run.has_base = true;
	for (i = 0; i < opt.vms; i++) {
		snprintf(name, sizeof(name), "vm%u", i);
		dy_cgroup_create_vm(&run.vm_cgroup[i], &run.base, name, opt.vcpus);
	}
	if (opt.hog_vcpus)
		dy_cgroup_create_vm(&run.hog_cgroup, &run.base, "hog",
				    opt.hog_vcpus);
}

/*
 * Start the process of lock VM @index, or of the hog VM if negative, and wait
 * until it is ready.
 */
static pid_t spawn(int index)
{
	const struct dy_cgroup *cgroup = NULL;
	int fds[2];
	pid_t pid;
	char c;

	if (opt.cgroup)
		cgroup = index < 0 ? &run.hog_cgroup : &run.vm_cgroup[index];

	TEST_ASSERT(!pipe2(fds, O_CLOEXEC), "pipe failed: %s", strerror(errno));
	pid = fork();
	TEST_ASSERT(pid >= 0, "fork failed: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		if (index < 0)
			run_hog_vm(cgroup, fds[1]);
		else
			run_lock_vm(index, cgroup, fds[1]);
		fflush(NULL);
		_exit(0);
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1) {
		waitpid(pid, NULL, 0);
		TEST_FAIL("the %s VM did not come up", index < 0 ? "hog" : "lock");
	}
	close(fds[0]);
	return pid;
}

static void init_barrier(pthread_barrier_t *barrier, unsigned int count)
{
	pthread_barrierattr_t attr;

	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(barrier, &attr, count);
	pthread_barrierattr_destroy(&attr);
}

static void wait_for_vms(void)
{
	u32 running = opt.vms;
	int status;
	u32 i;
	pid_t pid;

	while (running) {
		pid = waitpid(-1, &status, 0);
		TEST_ASSERT(pid > 0, "waitpid failed: %s", strerror(errno));
		for (i = 0; i < opt.vms; i++) {
			if (pid == run.vm[i])
				run.vm[i] = 0;
		}
		if (pid == run.hog)
			run.hog = 0;
		else
			running--;
		TEST_ASSERT(pid && !status, "a VM has failed, status 0x%x", status);
	}
}

static void print_list(const char *key, const u64 *values, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		printf("%s%lu", i ? "," : key, values[i]);
}

static bool report(u32 seed, u64 hog_start_ns)
{
	u64 vm_ns[MAX_VMS], cpu_ns[MAX_VMS], expected, hog_ns = 0;
	struct vm_result sum = { .done = true };
	const char *source;
	s64 nr_spin_exits;
	bool ok = true;
	u32 i;
	int s;

	expected = (u64)opt.vcpus * opt.iterations;
	for (i = 0; i < opt.vms; i++) {
		struct vm_result *res = &shared->vm[i];

		TEST_ASSERT(res->done, "VM %u has no result", i);
		vm_ns[i] = res->end_ns - shared->start_ns;
		cpu_ns[i] = res->cpu_ns;
		if (res->end_ns >= sum.end_ns) {
			sum.end_ns = res->end_ns;
			hog_ns = res->hog_cpu_ns - hog_start_ns;
		}
		sum.capped |= res->capped;
		sum.acquired += res->acquired;
		sum.violations += res->violations;
		sum.pauses += res->pauses;
		for (s = 0; s < NR_DY_STATS; s++) {
			if (res->stats[s] == DY_STAT_MISSING)
				sum.stats[s] = DY_STAT_MISSING;
			else
				sum.stats[s] += res->stats[s];
		}
		ok &= !res->violations && res->counter == res->acquired;
		ok &= res->capped || res->acquired == expected;
	}

	nr_spin_exits = dy_spin_exits(sum.stats, &source);
	if (!opt.pause_in_guest && !opt.ideal && opt.vcpus > 1 && !nr_spin_exits) {
		fprintf(stderr, "seed %u: not reported: no spin exit (counted by %s)\n",
			seed, source);
		return false;
	}

	printf("DYLOAD seed=%u lock=%s vcpus=%u vms=%u cpus=%u",
	       seed, dy_lock_names[opt.lock], opt.vcpus, opt.vms, opt.cpus);
	printf(" iterations=%u critical=%u noncritical=%u layout=%s hog_vcpus=%u",
	       opt.iterations, opt.critical, opt.noncritical,
	       opt.cgroup ? "libvirt" : "flat", opt.hog_vcpus);
	printf(" pause=%s ideal=%d cap_ms=%u",
	       opt.pause_in_guest ? "guest" : "exit", opt.ideal, opt.cap_ms);
	printf(" time_ns=%lu capped=%d acquired=%lu violations=%lu pauses=%lu",
	       sum.end_ns - shared->start_ns, sum.capped, sum.acquired,
	       sum.violations, sum.pauses);
	printf(" spin_exits=%ld spin_exits_from=%s", nr_spin_exits, source);
	for (s = 0; s < NR_DY_STATS; s++) {
		if (sum.stats[s] == DY_STAT_MISSING)
			printf(" %s=-", dy_stat_names[s]);
		else
			printf(" %s=%ld", dy_stat_names[s], sum.stats[s]);
	}
	print_list(" vm_time_ns=", vm_ns, opt.vms);
	print_list(" vm_cpu_ns=", cpu_ns, opt.vms);
	printf(" hog_cpu_ns=%lu ok=%d\n", hog_ns, ok);
	fflush(stdout);

	if (!ok)
		fprintf(stderr, "seed %u: the lock did not exclude, or work was lost\n",
			seed);
	return ok;
}

static bool run_seed(u32 seed)
{
	u32 vcpus = opt.ideal ? opt.cpus : opt.vcpus;
	u64 hog_start_ns = 0;
	bool ok;
	u32 i;

	memset(shared, 0, sizeof(*shared));
	/* The vCPUs and main thread of each VM, and we. */
	init_barrier(&shared->release, opt.vms * (vcpus + 1) + 1);
	init_barrier(&shared->finish, opt.vms);

	memset(&guest, 0, sizeof(guest));
	guest.vcpus = vcpus;
	guest.workers = opt.vcpus;
	guest.iterations = opt.iterations;
	guest.critical = opt.critical;
	guest.noncritical = opt.noncritical;
	guest.seed = seed;
	guest.owner = NO_OWNER;
	guest.lock.kind = opt.lock;
	guest.lock.stop = &guest.stop;

	if (opt.cgroup)
		create_cgroups();
	if (opt.hog_vcpus) {
		run.hog = spawn(-1);
		TEST_ASSERT(!clock_getcpuclockid(run.hog, &shared->hog_clock),
			    "no CPU clock for the hog VM");
	}
	for (i = 0; i < opt.vms; i++)
		run.vm[i] = spawn(i);

	if (opt.hog_vcpus)
		hog_start_ns = clock_ns(shared->hog_clock);
	shared->start_ns = clock_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&shared->release);
	wait_for_vms();
	clean_up();

	ok = report(seed, hog_start_ns);
	pthread_barrier_destroy(&shared->release);
	pthread_barrier_destroy(&shared->finish);
	return ok;
}

static void use_cpus(void)
{
	u32 nr = 0;
	cpu_set_t set;
	int cpu;

	TEST_ASSERT(!sched_getaffinity(0, sizeof(set), &set),
		    "sched_getaffinity failed: %s", strerror(errno));
	if (!opt.cpus)
		opt.cpus = CPU_COUNT(&set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &set))
			continue;
		if (nr++ >= opt.cpus)
			CPU_CLR(cpu, &set);
	}
	TEST_ASSERT(nr >= opt.cpus, "%u CPUs wanted, but only %u are there",
		    opt.cpus, nr);
	TEST_ASSERT(!sched_setaffinity(0, sizeof(set), &set),
		    "sched_setaffinity failed: %s", strerror(errno));
}

static void print_usage(const char *name, int status)
{
	printf("usage: %s [options]\n"
	       "VMs with more vCPUs than CPUs contend on a lock in guest memory.\n"
	       " -n, --vcpus=N         vCPUs of each VM (default 4)\n"
	       " -m, --vms=N           number of such VMs (default 1)\n"
	       " -i, --iterations=N    critical sections per vCPU (default 1000)\n"
	       " -c, --critical=N      loops in a critical section (default 5000)\n"
	       " -w, --noncritical=N   loops between critical sections (default 5000);\n"
	       "                       both vary between half and 1.5 times as much\n"
	       " -l, --lock=KIND       ticket (default), tas or queued\n"
	       " -s, --seed=N          seed of the lengths (default 1)\n"
	       " -S, --seeds=A..B      one run per seed, each with fresh VMs\n"
	       " -p, --cpus=N          use the first N CPUs (default: all)\n"
	       " -H, --hog-vm=N        run next to a VM with N vCPUs that never exit\n"
	       " -g, --cgroup          a cgroup per VM and per vCPU, as libvirt makes them\n"
	       " -x, --pause-in-guest  no exits from spinning: no directed yield\n"
	       " -I, --ideal           the same work with one vCPU per CPU\n"
	       " -C, --cap-ms=N        stop the guests after N ms\n"
	       " -h, --help            this text\n", name);
	exit(status);
}

static enum dy_lock_kind parse_lock(const char *name)
{
	int i;

	for (i = 0; i < NR_DY_LOCK_KINDS; i++) {
		if (!strcmp(name, dy_lock_names[i]))
			return i;
	}
	TEST_FAIL("no such lock: %s", name);
}

static void parse_seeds(const char *text)
{
	char rest;

	TEST_ASSERT(sscanf(text, "%u..%u%c", &opt.first_seed, &opt.last_seed,
			   &rest) == 2 && opt.first_seed <= opt.last_seed,
		    "seeds are given as FIRST..LAST, got '%s'", text);
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "vcpus",		required_argument,	NULL, 'n' },
		{ "vms",		required_argument,	NULL, 'm' },
		{ "iterations",		required_argument,	NULL, 'i' },
		{ "critical",		required_argument,	NULL, 'c' },
		{ "noncritical",	required_argument,	NULL, 'w' },
		{ "lock",		required_argument,	NULL, 'l' },
		{ "seed",		required_argument,	NULL, 's' },
		{ "seeds",		required_argument,	NULL, 'S' },
		{ "cpus",		required_argument,	NULL, 'p' },
		{ "hog-vm",		required_argument,	NULL, 'H' },
		{ "cgroup",		no_argument,		NULL, 'g' },
		{ "pause-in-guest",	no_argument,		NULL, 'x' },
		{ "ideal",		no_argument,		NULL, 'I' },
		{ "cap-ms",		required_argument,	NULL, 'C' },
		{ "help",		no_argument,		NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "n:m:i:c:w:l:s:S:p:H:gxIC:h", options,
				NULL)) != -1) {
		switch (c) {
		case 'n':
			opt.vcpus = atoi_positive("Number of vCPUs", optarg);
			break;
		case 'm':
			opt.vms = atoi_positive("Number of VMs", optarg);
			break;
		case 'i':
			opt.iterations = atoi_positive("Iterations", optarg);
			break;
		case 'c':
			opt.critical = atoi_non_negative("Critical section", optarg);
			break;
		case 'w':
			opt.noncritical = atoi_non_negative("Non-critical section", optarg);
			break;
		case 'l':
			opt.lock = parse_lock(optarg);
			break;
		case 's':
			opt.first_seed = atoi_non_negative("Seed", optarg);
			opt.last_seed = opt.first_seed;
			break;
		case 'S':
			parse_seeds(optarg);
			break;
		case 'p':
			opt.cpus = atoi_positive("Number of CPUs", optarg);
			break;
		case 'H':
			opt.hog_vcpus = atoi_non_negative("vCPUs of the hog VM", optarg);
			break;
		case 'g':
			opt.cgroup = true;
			break;
		case 'x':
			opt.pause_in_guest = true;
			break;
		case 'I':
			opt.ideal = true;
			break;
		case 'C':
			opt.cap_ms = atoi_non_negative("Cap", optarg);
			break;
		case 'h':
			print_usage(argv[0], 0);
			break;
		default:
			print_usage(argv[0], 1);
		}
	}
	if (optind != argc)
		print_usage(argv[0], 1);

	TEST_ASSERT(opt.vcpus <= MAX_VCPUS && opt.hog_vcpus <= MAX_VCPUS,
		    "at most %d vCPUs per VM", MAX_VCPUS);
	TEST_ASSERT(opt.vms <= MAX_VMS, "at most %d VMs", MAX_VMS);
}

int main(int argc, char **argv)
{
	bool ok = true;
	u32 seed;

	parse_options(argc, argv);
	use_cpus();
	TEST_ASSERT(!opt.ideal || opt.cpus <= opt.vcpus,
		    "the ideal needs at most as many CPUs as there are vCPUs");

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT(shared != MAP_FAILED, "mmap failed: %s", strerror(errno));

	run.parent = getpid();
	atexit(clean_up);
	for (seed = opt.first_seed; ok && seed <= opt.last_seed; seed++)
		ok = run_seed(seed);

	return ok ? 0 : 1;
}
