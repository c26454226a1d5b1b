/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_PID_H
#define _STUB_LINUX_PID_H

#include <linux/sched.h>

enum pid_type { PIDTYPE_PID };

/* @task is NULL once the thread has exited. */
struct pid {
	struct task_struct *task;
};

void rcu_read_lock(void);
void rcu_read_unlock(void);
#define rcu_dereference(p)	READ_ONCE(p)

struct task_struct *get_pid_task(struct pid *pid, enum pid_type type);

#endif
