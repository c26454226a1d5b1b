// SPDX-License-Identifier: GPL-2.0
/*
 * vmm KERNEL INITRD CPUS PARAMETERS: boots Linux under KVM on s390, all its vCPUs on one CPU; prints its console, and
 * at the end what KVM counted.
 *
 * QEMU needs more than the z10 that the emulated machine is. This has what a guest without devices asks for: the service
 * call with a console, and the orders to other CPUs that KVM leaves to user space.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define MEMORY		(96UL << 20)
#define MAX_CPUS	8

/* Where Linux starts, and its parameter area (arch/s390/include/asm/setup.h). */
#define START		0x10000
#define INITRD_START	0x10408
#define INITRD_SIZE	0x10410
#define COMMAND_LINE	0x10480
#define INITRD		0x3000000
#define LC_RESTART_PSW	0x1a0

#define PSW_64BIT	0x180000000ULL
#define PSW_CC_SHIFT	44

#define ICPT_INSTRUCTION	0x04
#define ICPT_WAIT		0x1c
#define ICPT_STOP		0x28

#define SIGP_STOP		0x05
#define SIGP_RESTART		0x06
#define SIGP_INITIAL_RESET	0x0b
#define SIGP_RESET		0x0c

#define SCLP_READ_INFO		0x00020001
#define SCLP_READ_INFO_FORCED	0x00120001
#define SCLP_READ_EVENT		0x00770005
#define SCLP_WRITE_EVENT	0x00760005
#define SCLP_WRITE_MASK		0x00780005
#define EVENT_VT220		0x1a
#define MASK_VT220		(1U << (32 - EVENT_VT220))

static const char * const wanted[] = {
	"instruction_diagnose_44", "instruction_diagnose_9c", "diag_9c_ignored", "diag_9c_forward", "dy_exits", "dy_tried",
};

static struct cpu {
	int fd, stats;
	struct kvm_run *run;
	int started;
} cpus[MAX_CPUS];
static int nr_cpus, vm;
static uint8_t *memory;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void interrupt(int fd, uint32_t type, uint32_t parameter)
{
	struct kvm_s390_interrupt irq = { .type = type, .parm = parameter };

	if (ioctl(fd, KVM_S390_INTERRUPT, &irq))
		fail("KVM_S390_INTERRUPT");
}

static void set_state(struct cpu *cpu, uint32_t state)
{
	struct kvm_mp_state mp = { state };

	if (ioctl(cpu->fd, KVM_SET_MP_STATE, &mp))
		fail("KVM_SET_MP_STATE");
}

static void set_cc(struct kvm_run *run, uint64_t cc)
{
	run->psw_mask = (run->psw_mask & ~(3ULL << PSW_CC_SHIFT)) | cc << PSW_CC_SHIFT;
}

static void print_statistics(void)
{
	for (int i = 0; i < nr_cpus; i++) {
		struct kvm_stats_header header;
		union { struct kvm_stats_desc desc; char room[256]; } u;

		if (pread(cpus[i].stats, &header, sizeof(header), 0) != sizeof(header))
			fail("statistics");
		for (unsigned int s = 0; s < header.num_desc; s++) {
			size_t size = sizeof(u.desc) + header.name_size;
			uint64_t value;

			if (pread(cpus[i].stats, &u, size, header.desc_offset + s * size) != (ssize_t)size)
				fail("statistics");
			for (unsigned int w = 0; w < sizeof(wanted) / sizeof(*wanted); w++)
				if (!strcmp(u.desc.name, wanted[w]) &&
				    pread(cpus[i].stats, &value, 8, header.data_offset + u.desc.offset) == 8)
					printf("vcpu %d %s %lu\n", i, wanted[w], value);
		}
	}
	fflush(stdout);
}

/* The guest's console, and how much memory it has; a command that is not known is said to be so. */
static void service_call(struct kvm_run *run)
{
	unsigned int registers = run->s390_sieic.ipb >> 16;
	uint32_t command = run->s.regs.gprs[registers >> 4 & 15];
	uint32_t address = run->s.regs.gprs[registers & 15] & ~7U;
	uint8_t *block = memory + address;
	uint16_t answer = 0x01f0;

	if (address > MEMORY - 4096)
		fail("the address of a service call");
	if (command == SCLP_READ_INFO || command == SCLP_READ_INFO_FORCED) {
		*(uint16_t *)(block + 8) = MEMORY >> 20;
		block[10] = 1;
		answer = 0x10;
	} else if (command == SCLP_WRITE_MASK) {
		uint16_t size = *(uint16_t *)(block + 10);

		if (size < 4 || size > 32)
			fail("the size of an event mask");
		memset(block + 12 + 2 * size, 0, 2 * size);
		*(uint32_t *)(block + 12 + 2 * size) = MASK_VT220;
		answer = 0x20;
	} else if (command == SCLP_WRITE_EVENT) {
		uint16_t size = *(uint16_t *)(block + 8);

		if (block[10] == EVENT_VT220 && size > 6 && size < 4096 - 8)
			fwrite(block + 14, 1, size - 6, stdout);
		fflush(stdout);
		block[11] |= 0x80;
		answer = 0x20;
	} else if (command == SCLP_READ_EVENT) {
		answer = 0x62f0;
	}
	*(uint16_t *)(block + 6) = answer;
	set_cc(run, 0);
	interrupt(vm, KVM_S390_INT_SERVICE, address);
}

static void signal_processor(struct kvm_run *run)
{
	uint32_t ipb = run->s390_sieic.ipb;
	uint64_t base = ipb >> 28 ? run->s.regs.gprs[ipb >> 28] : 0;
	uint8_t order = base + (ipb >> 16 & 0xfff);
	uint16_t number = run->s.regs.gprs[run->s390_sieic.ipa & 15];
	struct cpu *target = &cpus[number];

	set_cc(run, 3);
	if (number >= nr_cpus)
		return;
	if (order == SIGP_RESTART) {
		uint64_t *psw = (uint64_t *)(memory + target->run->s.regs.prefix + LC_RESTART_PSW);

		pthread_mutex_lock(&lock);
		target->run->psw_mask = psw[0];
		target->run->psw_addr = psw[1];
		set_state(target, KVM_MP_STATE_OPERATING);
		target->started = 1;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	} else if (order == SIGP_INITIAL_RESET || order == SIGP_RESET) {
		if (ioctl(target->fd, KVM_S390_INITIAL_RESET, 0))
			fail("KVM_S390_INITIAL_RESET");
	} else if (order != SIGP_STOP) {
		return;
	}
	set_cc(run, 0);
}

/* Returns when the guest stops the CPU; the end of the first CPU is the end. */
static void run_until_stopped(struct cpu *cpu)
{
	struct kvm_run *run = cpu->run;

	for (;;) {
		unsigned int code, instruction;

		if (ioctl(cpu->fd, KVM_RUN, 0))
			fail("KVM_RUN");
		code = run->s390_sieic.icptcode;
		instruction = run->s390_sieic.ipa;
		if (run->exit_reason != KVM_EXIT_S390_SIEIC) {
			fprintf(stderr, "exit reason %u\n", run->exit_reason);
			_exit(1);
		} else if (code == ICPT_STOP || code == ICPT_WAIT) {
			if (cpu == cpus) {
				print_statistics();
				_exit(0);
			}
			set_state(cpu, KVM_MP_STATE_STOPPED);
			return;
		} else if (code != ICPT_INSTRUCTION) {
			fprintf(stderr, "intercept %x at %llx\n", code, run->psw_addr);
			_exit(1);
		} else if (instruction == 0xb220) {
			service_call(run);
		} else if (instruction >> 8 == 0xae) {
			signal_processor(run);
		} else {
			interrupt(cpu->fd, KVM_S390_PROGRAM_INT, instruction >> 8 == 0x83 ? 6 : 1);
		}
	}
}

static void *thread(void *arg)
{
	struct cpu *cpu = arg;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (!cpu->started)
			pthread_cond_wait(&changed, &lock);
		cpu->started = 0;
		pthread_mutex_unlock(&lock);
		run_until_stopped(cpu);
	}
	return NULL;
}

static size_t load(const char *name, uint8_t *to, size_t room)
{
	int fd = open(name, O_RDONLY);
	size_t size = 0;
	ssize_t n;

	if (fd < 0)
		fail(name);
	while ((n = read(fd, to + size, room - size)) > 0)
		size += n;
	close(fd);
	return size;
}

int main(int argc, char **argv)
{
	struct kvm_userspace_memory_region region = { .memory_size = MEMORY };
	int kvm = open("/dev/kvm", O_RDWR);
	pthread_t id;
	cpu_set_t set;

	nr_cpus = argc == 5 ? atoi(argv[3]) : 0;
	if (nr_cpus < 1 || nr_cpus > MAX_CPUS || strlen(argv[4]) > 800) {
		fprintf(stderr, "usage: vmm KERNEL INITRD CPUS PARAMETERS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);

	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	/* KVM takes memory in segments of 1 MB. */
	memory = mmap((void *)(1UL << 30), MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (vm < 0 || memory == MAP_FAILED)
		fail("KVM_CREATE_VM");
	/* All of it, since the emulator may take a page that the host has not made writable yet for one that is protected. */
	memset(memory, 0, MEMORY);
	region.userspace_addr = (uint64_t)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region))
		fail("KVM_SET_USER_MEMORY_REGION");

	/* Each runs one instruction, which exits, since the first may be read as zeros there. */
	*(uint32_t *)(memory + START) = 0x83000501;
	for (int i = 0; i < nr_cpus; i++) {
		struct cpu *cpu = &cpus[i];

		cpu->fd = ioctl(vm, KVM_CREATE_VCPU, i);
		cpu->run = mmap(NULL, ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), PROT_READ | PROT_WRITE, MAP_SHARED, cpu->fd, 0);
		if (cpu->fd < 0 || cpu->run == MAP_FAILED)
			fail("KVM_CREATE_VCPU");
		cpu->run->psw_mask = PSW_64BIT;
		cpu->run->psw_addr = START;
		if (ioctl(cpu->fd, KVM_RUN, 0))
			fail("KVM_RUN");
		cpu->stats = ioctl(cpu->fd, KVM_GET_STATS_FD, 0);
	}
	for (int i = 1; i < nr_cpus; i++)
		set_state(&cpus[i], KVM_MP_STATE_STOPPED);

	load(argv[1], memory, INITRD);
	*(uint64_t *)(memory + INITRD_SIZE) = load(argv[2], memory + INITRD, MEMORY - INITRD);
	*(uint64_t *)(memory + INITRD_START) = INITRD;
	strcpy((char *)memory + COMMAND_LINE, argv[4]);

	set_state(cpus, KVM_MP_STATE_OPERATING);
	cpus[0].run->psw_mask = PSW_64BIT;
	cpus[0].run->psw_addr = START;
	for (int i = 1; i < nr_cpus; i++)
		pthread_create(&id, NULL, thread, &cpus[i]);
	for (;;)
		run_until_stopped(cpus);
}
