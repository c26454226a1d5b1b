// SPDX-License-Identifier: GPL-2.0-only
/*
 * Directed yield under everything that can happen to a VM meanwhile.
 *
 * vCPUs of one VM spin and work for as long as the test lasts.  Their threads
 * get signals, two of the vCPUs are run by two threads each, vCPUs are created
 * that fail half-way, statistics are read, and the switches are toggled.  Next
 * to that VM others come and go, each in a process of its own: killed while
 * their vCPUs spin, their file descriptors closed under their vCPUs, out of
 * file descriptors when a vCPU has its index already, or with a vCPU whose
 * threads end one after the other.
 *
 * The host must survive, the counters must be plausible, afterwards yields must
 * still work, and no VM may be left over.
 */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "directed_yield.h"

#define NR_SPIN		3
#define NR_WORK		2
#define NR_SHARED	2	/* vCPUs that are run by two threads */
#define NR_MAIN		(NR_SPIN + NR_WORK + NR_SHARED)
#define NR_RUNNERS	(NR_MAIN + NR_SHARED)
#define MAX_CHILDREN	10000

enum { EVENT_KILLED, EVENT_CLOSED, EVENT_NO_FD, EVENT_NEW_THREAD, NR_EVENTS };

static const char * const event_names[NR_EVENTS] = {
	[EVENT_KILLED]		= "a process is killed while its vCPUs spin",
	[EVENT_CLOSED]		= "a VM's file descriptors are closed while its vCPUs spin",
	[EVENT_NO_FD]		= "a vCPU gets its index but no file descriptor",
	[EVENT_NEW_THREAD]	= "a vCPU's threads end one after the other",
};

/* Shared with the process that starts the others. */
struct shared {
	bool stop;
	unsigned int done[NR_EVENTS];
	unsigned int failed[NR_EVENTS];
	unsigned int nr_pids;
	pid_t pids[MAX_CHILDREN];
};

static struct shared *shared;
static struct dy_vm vm;
static bool stop;
static char vm_switch[128];

/* What the threads of this process have done. */
static unsigned int nr_signals, nr_toggles, nr_stats, nr_creations;
static unsigned int bad_stats, bad_creations, bad_exits;

static struct runner {
	struct dy_vcpu *v;
	pthread_t thread;
} runners[NR_RUNNERS];

static void ms_sleep(unsigned int ms)
{
	usleep(ms * 1000);
}

/* The vCPUs of this process ---------------------------------------------- */

static void bad_exit(struct dy_vcpu *v, const char *when)
{
	if (dy_lost_by_emulator(v->vcpu->run))
		return;
	ksft_print_msg("vCPU %u, %s: errno %d, exit reason %s\n", v->vcpu->id,
		       when, errno, exit_reason_str(v->vcpu->run->exit_reason));
	bad_exits++;
}

static void *runner_thread(void *arg)
{
	struct dy_vcpu *v = ((struct runner *)arg)->v;

	while (!READ_ONCE(stop)) {
		if (!__vcpu_run(v->vcpu)) {
			/*
			 * The exit reason tells nothing here: the vCPU's other
			 * thread, if any, may be back in KVM_RUN already.
			 */
			if (!READ_ONCE(v->block->stop))
				bad_exit(v, "not told to end");
			break;
		}
		if (errno != EINTR) {
			bad_exit(v, "KVM_RUN failed");
			break;
		}
		/* Let the other thread of this vCPU, if any, have it. */
		usleep(100);
	}
	return NULL;
}

static void *signal_thread(void *arg)
{
	unsigned int seed = 1;

	while (!READ_ONCE(stop)) {
		pthread_kill(runners[rand_r(&seed) % NR_RUNNERS].thread, SIGUSR1);
		nr_signals++;
		usleep(rand_r(&seed) % 2000);
	}
	return NULL;
}

static void *switch_thread(void *arg)
{
	unsigned int seed = 2;

	while (!READ_ONCE(stop)) {
		dy_write_file(DY_SWITCH, rand_r(&seed) % 4 ? "Y" : "N");
		dy_write_file(vm_switch, rand_r(&seed) % 4 ? "Y" : "N");
		nr_toggles++;
		usleep(rand_r(&seed) % 3000);
	}
	dy_write_file(DY_SWITCH, "Y");
	dy_write_file(vm_switch, "Y");
	return NULL;
}

static void *stats_thread(void *arg)
{
	static const char * const names[] = {
		"dy_exits", "dy_no_candidate", "dy_tried", "dy_took_effect",
	};
	static u64 last[NR_MAIN][ARRAY_SIZE(names)];
	u64 val;
	int i, j;

	while (!READ_ONCE(stop)) {
		for (i = 0; i < NR_MAIN; i++) {
			for (j = 0; j < ARRAY_SIZE(names); j++) {
				val = dy_stat(&vm.v[i], names[j]);
				bad_stats += val < last[i][j];
				last[i][j] = val;
			}
		}
		nr_stats++;
		usleep(500);
	}
	return NULL;
}

static void *create_thread(void *arg)
{
	unsigned long too_large = kvm_check_cap(KVM_CAP_MAX_VCPU_ID);
	unsigned int extra = 0;
	int fd;

	if (too_large < NR_MAIN)
		too_large = 1ul << 31;

	while (!READ_ONCE(stop)) {
		fd = ioctl(vm.vm->fd, KVM_CREATE_VCPU, dy_id(nr_creations % NR_MAIN));
		bad_creations += fd >= 0 || errno != EEXIST;
		fd = ioctl(vm.vm->fd, KVM_CREATE_VCPU, too_large);
		bad_creations += fd >= 0 || errno != EINVAL;

		/* One that succeeds now and then, and is never run. */
		if (extra < 20 && nr_creations % 16 == 15) {
			fd = ioctl(vm.vm->fd, KVM_CREATE_VCPU,
				   dy_id(NR_MAIN + extra));
			bad_creations += fd < 0;
			close(fd);
			extra++;
		}
		nr_creations++;
		usleep(2000);
	}
	return NULL;
}

/* Processes with a VM of their own --------------------------------------- */

static void spinners_and_worker(struct dy_vm *d)
{
	int i;

	dy_vm_init(d);
	for (i = 0; i < 3; i++)
		dy_vcpu_add(d, dy_guest_spin, false, 0);
	dy_vcpu_add(d, dy_guest_work, false, 0);
	for (i = 0; i < d->nr; i++)
		dy_start(&d->v[i]);
}

static int child_killed(unsigned int *seed)
{
	struct dy_vm d;

	spinners_and_worker(&d);
	ms_sleep(1000);
	return 1;
}

static int child_closed(unsigned int *seed)
{
	struct dy_vm d;
	int i;

	spinners_and_worker(&d);
	ms_sleep(rand_r(seed) % 20);
	for (i = 0; i < d.nr; i++)
		WRITE_ONCE(d.v[i].closing, true);
	close(d.vm->fd);
	for (i = 0; i < d.nr; i++) {
		close(d.v[i].vcpu->fd);
		close(d.v[i].stats.fd);
	}
	ms_sleep(rand_r(seed) % 10);
	for (i = 0; i < d.nr; i++) {
		WRITE_ONCE(d.v[i].block->stop, 1);
		WRITE_ONCE(d.v[i].vcpu->run->immediate_exit, 1);
		pthread_kill(d.v[i].thread, SIGUSR1);
		/* It may find its file descriptor closed, or end well. */
		pthread_join(d.v[i].thread, NULL);
	}
	return 0;
}

static int child_no_fd(unsigned int *seed)
{
	struct rlimit old, none;
	struct dy_vcpu *v;
	struct dy_vm d;
	int i, fd;

	spinners_and_worker(&d);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	for (i = 0; i < 10; i++) {
		setrlimit(RLIMIT_NOFILE, &none);
		fd = ioctl(d.vm->fd, KVM_CREATE_VCPU, dy_id(d.nr));
		setrlimit(RLIMIT_NOFILE, &old);
		if (fd >= 0 || errno != EMFILE)
			return 2;
		ms_sleep(rand_r(seed) % 3);
	}

	/* The index that none of them kept is good for one that works. */
	v = dy_vcpu_add(&d, dy_guest_spin, false, 0);
	dy_start(v);
	for (i = 0; i < 5000 && !dy_stat(v, "dy_exits"); i++)
		ms_sleep(1);
	if (!dy_stat(v, "dy_exits"))
		return 3;
	if (!dy_stop_all(&d))
		return 4;
	dy_vm_free(&d);
	return 0;
}

static int child_new_thread(unsigned int *seed)
{
	struct dy_vm d;
	int i;

	spinners_and_worker(&d);
	for (i = 0; i < 20; i++) {
		struct dy_vcpu *v = &d.v[rand_r(seed) % d.nr];

		if (!dy_interrupt(v))
			return 2;
		ms_sleep(rand_r(seed) % 3);
		dy_start(v);
	}
	if (!dy_stop_all(&d))
		return 3;
	dy_vm_free(&d);
	return 0;
}

static void start_children(void)
{
	static int (* const run[])(unsigned int *seed) = {
		[EVENT_KILLED]		= child_killed,
		[EVENT_CLOSED]		= child_closed,
		[EVENT_NO_FD]		= child_no_fd,
		[EVENT_NEW_THREAD]	= child_new_thread,
	};
	unsigned int seed = 3, n = 0;
	int event, status;
	pid_t pid;

	while (!READ_ONCE(shared->stop) && n < MAX_CHILDREN) {
		event = n++ % NR_EVENTS;
		seed = seed * 7 + n;
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(run[event](&seed));
		}
		if (pid < 0) {
			shared->failed[event]++;
			break;
		}
		shared->pids[shared->nr_pids] = pid;
		WRITE_ONCE(shared->nr_pids, shared->nr_pids + 1);
		if (event == EVENT_KILLED) {
			ms_sleep(10 + rand_r(&seed) % 60);
			kill(pid, SIGKILL);
		}
		waitpid(pid, &status, 0);
		if (event == EVENT_KILLED ? !WIFSIGNALED(status) : status) {
			ksft_print_msg("%s: status 0x%x\n", event_names[event],
				       status);
			shared->failed[event]++;
		}
		shared->done[event]++;
	}
	exit(0);
}

/* The checks -------------------------------------------------------------- */

static void check_yields(struct dy_vm *d, const char *name)
{
	u64 before = dy_vm_stat(d, "dy_took_effect");
	double end = dy_now() + 20;

	while (dy_vm_stat(d, "dy_took_effect") < before + 10 && dy_now() < end)
		ms_sleep(1);
	ksft_test_result(dy_vm_stat(d, "dy_took_effect") >= before + 10,
			 "%s\n", name);
}

static bool our_pid(pid_t pid)
{
	unsigned int i;

	if (pid == getpid())
		return true;
	for (i = 0; i < shared->nr_pids; i++) {
		if (shared->pids[i] == pid)
			return true;
	}
	return false;
}

static int vms_left(void)
{
	DIR *dir = opendir("/sys/kernel/debug/kvm");
	struct dirent *ent;
	int nr = 0;

	if (!dir)
		return -1;
	while ((ent = readdir(dir))) {
		if (strchr(ent->d_name, '-') && our_pid(atoi(ent->d_name)))
			nr++;
	}
	closedir(dir);
	return nr;
}

static void run(unsigned int seconds)
{
	static void *(* const fns[])(void *) = {
		signal_thread, switch_thread, stats_thread, create_thread,
	};
	pthread_t threads[ARRAY_SIZE(fns)];
	int i;

	dy_vm_init(&vm);
	for (i = 0; i < NR_MAIN; i++)
		dy_vcpu_add(&vm, i < NR_SPIN ? dy_guest_spin :
			    i < NR_SPIN + NR_WORK ? dy_guest_work :
			    dy_guest_spin, false, 0);
	snprintf(vm_switch, sizeof(vm_switch), "%s/directed_yield", vm.debugfs);

	signal(SIGUSR1, dy_signal_handler);
	for (i = 0; i < NR_RUNNERS; i++) {
		runners[i].v = &vm.v[i < NR_MAIN ? i : i - NR_SHARED];
		pthread_create(&runners[i].thread, NULL, runner_thread,
			       &runners[i]);
	}
	for (i = 0; i < ARRAY_SIZE(fns); i++)
		pthread_create(&threads[i], NULL, fns[i], NULL);

	for (i = 0; i < seconds * 10; i++)
		ms_sleep(100);

	/* All but the vCPUs. */
	WRITE_ONCE(shared->stop, true);
	while (waitpid(-1, NULL, 0) > 0)
		;
	WRITE_ONCE(stop, true);
	for (i = 0; i < ARRAY_SIZE(fns); i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_RUNNERS; i++) {
		WRITE_ONCE(runners[i].v->block->stop, 1);
		pthread_kill(runners[i].thread, SIGUSR1);
	}
	for (i = 0; i < NR_RUNNERS; i++)
		pthread_join(runners[i].thread, NULL);

	for (i = 0; i < NR_MAIN; i++) {
		u32 reason = vm.v[i].vcpu->run->exit_reason;

		if (reason != KVM_EXIT_IO && reason != KVM_EXIT_INTR)
			bad_exit(&vm.v[i], "at the end");
	}
}

int main(int argc, char *argv[])
{
	static const char signals_name[] =
		"vCPU threads get signals and take over from one another";
	unsigned int seconds = 20, left;
	bool plausible = true;
	char old[16] = "";
	struct dy_vm d;
	int i, opt;

	while ((opt = getopt(argc, argv, "t:h")) != -1) {
		switch (opt) {
		case 't':
			seconds = atoi_positive("time", optarg);
			break;
		default:
			printf("usage: %s [-t seconds]\n", argv[0]);
			exit(opt == 'h' ? 0 : KSFT_FAIL);
		}
	}

	ksft_print_header();
	dy_require_core();
	__TEST_REQUIRE(dy_pause_exits(false),
		       "PAUSEs don't reach KVM on this host (no pause filter, no PLE)");
	dy_read_file(DY_SWITCH, old, sizeof(old));
	ksft_set_plan(NR_EVENTS + 8);

	/* Forked before there is a VM, so that nobody inherits its files. */
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TEST_ASSERT(shared != MAP_FAILED, "mmap() failed");
	if (!fork())
		start_children();

	run(seconds);

	for (i = 0; i < NR_EVENTS; i++)
		ksft_test_result(shared->done[i] && !shared->failed[i],
				 "%s (%u times)\n", event_names[i],
				 shared->done[i]);
	if (dy_nr_lost && !bad_exits)
		ksft_test_result_skip("%s # the emulator has shut vCPUs down\n",
				      signals_name);
	else
		ksft_test_result(nr_signals && !bad_exits,
				 "%s (%u times)\n", signals_name, nr_signals);
	ksft_test_result(nr_creations && !bad_creations,
			 "vCPU ids that exist or are too large are refused (%u times)\n",
			 nr_creations);
	ksft_test_result(nr_stats && !bad_stats,
			 "statistics never go backwards (read %u times)\n",
			 nr_stats);

	for (i = 0; i < NR_MAIN; i++) {
		plausible &= dy_stat(&vm.v[i], "dy_took_effect") <=
			     dy_stat(&vm.v[i], "dy_tried");
		plausible &= dy_stat(&vm.v[i], "dy_no_candidate") <=
			     dy_stat(&vm.v[i], "dy_exits");
	}
	plausible &= dy_vm_stat(&vm, "dy_took_effect") > 0;
	ksft_test_result(plausible,
			 "the counters fit together: %lu exits, %lu without candidate, %lu tries, %lu took effect\n",
			 dy_vm_stat(&vm, "dy_exits"),
			 dy_vm_stat(&vm, "dy_no_candidate"),
			 dy_vm_stat(&vm, "dy_tried"),
			 dy_vm_stat(&vm, "dy_took_effect"));

	for (i = 0; i < NR_MAIN; i++) {
		WRITE_ONCE(vm.v[i].block->stop, 0);
		dy_vcpu_setup(vm.v[i].vcpu, i, i < NR_SPIN + NR_WORK - 1 ?
			      dy_guest_spin : dy_guest_work, false);
		dy_start(&vm.v[i]);
	}
	check_yields(&vm, "the VM that has seen it all still yields");
	ksft_test_result(dy_stop_all(&vm), "its vCPUs end when they are told to\n");
	dy_vm_free(&vm);

	spinners_and_worker(&d);
	check_yields(&d, "a new VM yields");
	dy_stop_all(&d);
	dy_vm_free(&d);
	dy_write_file(DY_SWITCH, old);

	for (i = 0; i < 50 && vms_left() > 0; i++)
		ms_sleep(100);
	left = vms_left();
	if (left == -1)
		ksft_test_result_skip("no VM is left over # no debugfs\n");
	else
		ksft_test_result(!left, "no VM is left over (%u are)\n", left);
	ksft_finished();
}
