/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cgroup v2 layout in which libvirt runs virtual machines:
 *
 *	<root>/<base>/<vm>/emulator	threads of the VMM itself
 *	<root>/<base>/<vm>/vcpu<n>	one thread each
 *
 * where the groups below <vm> are threaded, and the cpu controller is enabled
 * at each level.  vCPUs therefore do not compete with each other as tasks on
 * the run queue of a CPU, but as group entities one level above.
 */
#ifndef SELFTEST_KVM_DIRECTED_YIELD_CGROUP_H
#define SELFTEST_KVM_DIRECTED_YIELD_CGROUP_H

#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test_util.h"

#define DY_CGROUP_DEFAULT_ROOT	"/sys/fs/cgroup"

struct dy_cgroup {
	char path[PATH_MAX];
};

static inline void __printf(2, 3)
dy_cgroup_path(struct dy_cgroup *cg, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(cg->path, sizeof(cg->path), fmt, ap);
	va_end(ap);
	TEST_ASSERT(len > 0 && len < sizeof(cg->path), "cgroup path too long");
}

static inline void dy_cgroup_write(const struct dy_cgroup *cg, const char *file,
				   const char *text)
{
	struct dy_cgroup f;
	ssize_t len;
	int fd;

	dy_cgroup_path(&f, "%s/%s", cg->path, file);
	fd = open(f.path, O_WRONLY | O_CLOEXEC);
	TEST_ASSERT(fd >= 0, "cannot open %s: %s", f.path, strerror(errno));
	len = write(fd, text, strlen(text));
	TEST_ASSERT(len == strlen(text), "cannot write '%s' to %s: %s", text,
		    f.path, strerror(errno));
	close(fd);
}

static inline void dy_cgroup_mkdir(const struct dy_cgroup *cg)
{
	TEST_ASSERT(!mkdir(cg->path, 0755) || errno == EEXIST,
		    "cannot create %s: %s", cg->path, strerror(errno));
}

/* Find the unified hierarchy, mount it where there is none. */
static inline void dy_cgroup_find_root(struct dy_cgroup *root)
{
	struct mntent *m;
	FILE *f;

	f = setmntent("/proc/self/mounts", "r");
	TEST_ASSERT(f, "cannot read /proc/self/mounts: %s", strerror(errno));
	while ((m = getmntent(f))) {
		if (!strcmp(m->mnt_type, "cgroup2")) {
			dy_cgroup_path(root, "%s", m->mnt_dir);
			endmntent(f);
			return;
		}
	}
	endmntent(f);

	dy_cgroup_path(root, DY_CGROUP_DEFAULT_ROOT);
	TEST_ASSERT(!mount("cgroup2", root->path, "cgroup2", 0, NULL),
		    "no cgroup v2 hierarchy, and cannot mount one on %s: %s",
		    root->path, strerror(errno));
}

static inline void dy_cgroup_create_base(struct dy_cgroup *base, const char *name)
{
	struct dy_cgroup root;

	dy_cgroup_find_root(&root);
	dy_cgroup_write(&root, "cgroup.subtree_control", "+cpu");
	dy_cgroup_path(base, "%s/%s", root.path, name);
	dy_cgroup_mkdir(base);
	dy_cgroup_write(base, "cgroup.subtree_control", "+cpu");
}

static inline void dy_cgroup_create_vm(struct dy_cgroup *vm,
				       const struct dy_cgroup *base,
				       const char *name, int nr_vcpus)
{
	struct dy_cgroup child;
	int i;

	dy_cgroup_path(vm, "%s/%s", base->path, name);
	dy_cgroup_mkdir(vm);
	for (i = -1; i < nr_vcpus; i++) {
		if (i < 0)
			dy_cgroup_path(&child, "%s/emulator", vm->path);
		else
			dy_cgroup_path(&child, "%s/vcpu%d", vm->path, i);
		dy_cgroup_mkdir(&child);
		dy_cgroup_write(&child, "cgroup.type", "threaded");
	}
	dy_cgroup_write(vm, "cgroup.subtree_control", "+cpu");
}

static inline void dy_cgroup_move_thread(const struct dy_cgroup *vm,
					 const char *child)
{
	struct dy_cgroup cg;
	char tid[16];

	dy_cgroup_path(&cg, "%s/%s", vm->path, child);
	snprintf(tid, sizeof(tid), "%ld", (long)syscall(SYS_gettid));
	dy_cgroup_write(&cg, "cgroup.threads", tid);
}

/* Called by the main thread of the VM's process, before it has others. */
static inline void dy_cgroup_enter_vm(const struct dy_cgroup *vm)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	dy_cgroup_write(vm, "cgroup.procs", pid);
	dy_cgroup_move_thread(vm, "emulator");
}

/* Called by each vCPU thread. */
static inline void dy_cgroup_enter_vcpu(const struct dy_cgroup *vm, int vcpu)
{
	char name[16];

	snprintf(name, sizeof(name), "vcpu%d", vcpu);
	dy_cgroup_move_thread(vm, name);
}

/* A group whose last task has just been reaped may stay busy for a moment. */
static inline bool dy_cgroup_remove(const struct dy_cgroup *cg)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (!rmdir(cg->path) || errno == ENOENT)
			return true;
		if (errno != EBUSY)
			break;
		usleep(1000);
	}
	return false;
}

static inline bool dy_cgroup_remove_vm(const struct dy_cgroup *vm, int nr_vcpus)
{
	struct dy_cgroup child;
	bool ok = true;
	int i;

	for (i = 0; i < nr_vcpus; i++) {
		dy_cgroup_path(&child, "%s/vcpu%d", vm->path, i);
		ok &= dy_cgroup_remove(&child);
	}
	dy_cgroup_path(&child, "%s/emulator", vm->path);
	ok &= dy_cgroup_remove(&child);
	return dy_cgroup_remove(vm) && ok;
}

#endif /* SELFTEST_KVM_DIRECTED_YIELD_CGROUP_H */
