// SPDX-License-Identifier: GPL-2.0
/*
 * put FILE HOST-FILE: copy a file of the lab machine to the machine that emulates it, through semihosting.
 *
 * The calls and their parameters are those of "Semihosting for AArch32 and AArch64" (Arm).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SYS_OPEN	0x01
#define SYS_CLOSE	0x02
#define SYS_WRITE	0x05
#define MODE_WB		5

static long call(long operation, const uint64_t *parameters)
{
	register long x0 asm("x0") = operation;
	register const uint64_t *x1 asm("x1") = parameters;

	asm volatile("hlt #0xf000" : "+r" (x0) : "r" (x1) : "memory");
	return x0;
}

int main(int argc, char **argv)
{
	static char data[1 << 16];
	uint64_t parameters[3];
	int32_t handle;
	ssize_t n;
	int in;

	if (argc != 3) {
		fprintf(stderr, "usage: put FILE HOST-FILE\n");
		return 2;
	}
	in = open(argv[1], O_RDONLY);
	if (in < 0) {
		perror(argv[1]);
		return 1;
	}

	parameters[0] = (uintptr_t)argv[2];
	parameters[1] = MODE_WB;
	parameters[2] = strlen(argv[2]);
	handle = call(SYS_OPEN, parameters);
	if (handle < 0) {
		fprintf(stderr, "cannot write to %s on the host\n", argv[2]);
		return 1;
	}
	while ((n = read(in, data, sizeof(data))) > 0) {
		parameters[0] = handle;
		parameters[1] = (uintptr_t)data;
		parameters[2] = n;
		/* What has not been written. */
		if (call(SYS_WRITE, parameters)) {
			fprintf(stderr, "cannot write all of %s on the host\n", argv[2]);
			return 1;
		}
	}
	parameters[0] = handle;
	return call(SYS_CLOSE, parameters) || n < 0;
}
