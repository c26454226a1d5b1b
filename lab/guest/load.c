// SPDX-License-Identifier: GPL-2.0
/*
 * load WORKLOAD TASKS ITERATIONS SEED: what contends on sleeping locks of the kernel; prints the nanoseconds it took.
 *
 * Lengths between operations are random, so that they do not alias with the tick.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER	"/tmp/load"

static struct {
	atomic_int ready, go;
	int append, pipe[2], sem;
} *shared;

static void work(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	for (uint32_t i = *state >> 22; i; i--)
		__asm__ volatile("" ::: "memory");
}

/* Each operation returns 0 if it did what it should. */
static int op_creat(int me, int i, uint32_t *state)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), FOLDER "/%d.%d", me, i);
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600);
	return fd < 0 || close(fd) || unlink(name);
}

static int op_rename(int me, int i, uint32_t *state)
{
	char a[64], b[64];

	snprintf(a, sizeof(a), FOLDER "/%d.%d", me, i & 1);
	snprintf(b, sizeof(b), FOLDER "/%d.%d", me, !(i & 1));
	if (!i) {
		int fd = open(a, O_CREAT | O_WRONLY, 0600);

		if (fd < 0 || close(fd))
			return 1;
	}
	return rename(a, b);
}

static int op_append(int me, int i, uint32_t *state)
{
	static const char text[64];

	return write(shared->append, text, sizeof(text)) != sizeof(text);
}

static int op_mmap(int me, int i, uint32_t *state)
{
	volatile char *page = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	page[0] = 1;
	return munmap((void *)page, 16384);
}

static int op_pipe(int me, int i, uint32_t *state)
{
	char byte = 0;

	return write(shared->pipe[1], &byte, 1) != 1 || read(shared->pipe[0], &byte, 1) != 1;
}

static int op_sem(int me, int i, uint32_t *state)
{
	struct sembuf down = { .sem_op = -1 }, up = { .sem_op = 1 };

	return semop(shared->sem, &down, 1) || semop(shared->sem, &up, 1);
}

static int op_fork(int me, int i, uint32_t *state)
{
	int status;
	pid_t child = fork();

	if (!child) {
		execl("/bin/busybox", "true", NULL);
		_exit(1);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

static const struct workload {
	const char *name;
	int (*op)(int me, int i, uint32_t *state);
	int threads;
} workloads[] = {
	{ "creat", op_creat }, { "rename", op_rename }, { "append", op_append }, { "mmap", op_mmap, 1 },
	{ "pipe", op_pipe }, { "sem", op_sem }, { "fork", op_fork },
};

static const struct workload *workload;
static int iterations;
static uint32_t seed;

static void *task(void *arg)
{
	int me = (intptr_t)arg;
	uint32_t state = seed * 7919 + me * 104729 + 1;
	intptr_t bad = 0;

	atomic_fetch_add(&shared->ready, 1);
	while (!atomic_load(&shared->go))
		usleep(100);
	for (int i = 0; i < iterations && !bad; i++) {
		bad = workload->op(me, i, &state);
		work(&state);
	}
	return (void *)bad;
}

int main(int argc, char **argv)
{
	struct timespec begin, end;
	pthread_t threads[64];
	int tasks, bad = 0;

	for (unsigned int i = 0; argc == 5 && i < sizeof(workloads) / sizeof(*workloads); i++)
		if (!strcmp(argv[1], workloads[i].name))
			workload = &workloads[i];
	tasks = argc == 5 ? atoi(argv[2]) : 0;
	if (!workload || tasks < 1 || tasks > 64) {
		fprintf(stderr, "usage: load creat|rename|append|mmap|pipe|sem|fork TASKS ITERATIONS SEED\n");
		return 2;
	}
	iterations = atoi(argv[3]);
	seed = atoi(argv[4]);

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (system("rm -rf " FOLDER "; mkdir " FOLDER))
		return 1;
	shared->append = open(FOLDER "/file", O_CREAT | O_WRONLY | O_APPEND, 0600);
	shared->sem = semget(IPC_PRIVATE, 1, 0600);
	if (pipe(shared->pipe) || shared->append < 0)
		return 1;
	/* A kernel may have no semaphores of System V; then that workload fails. */
	semctl(shared->sem, 0, SETVAL, 1);

	for (intptr_t i = 0; i < tasks; i++) {
		if (workload->threads)
			pthread_create(&threads[i], NULL, task, (void *)i);
		else if (!fork())
			_exit(!!task((void *)i));
	}
	while (atomic_load(&shared->ready) < tasks)
		usleep(1000);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	atomic_store(&shared->go, 1);
	for (int i = 0; i < tasks; i++) {
		void *result = NULL;
		int status = 0;

		if (workload->threads)
			pthread_join(threads[i], &result);
		else
			wait(&status);
		bad |= result || status;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	semctl(shared->sem, 0, IPC_RMID);
	printf("load %s %d %u %lld\n", workload->name, tasks, seed,
	       (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec);
	return bad;
}
