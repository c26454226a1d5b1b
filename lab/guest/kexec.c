// SPDX-License-Identifier: GPL-2.0
/* kexec IMAGE INITRD COMMAND-LINE: start another kernel. */
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int image, initrd;

	if (argc != 4) {
		fprintf(stderr, "usage: kexec IMAGE INITRD COMMAND-LINE\n");
		return 2;
	}

	image = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (image < 0 || initrd < 0) {
		perror("open");
		return 1;
	}

	if (syscall(SYS_kexec_file_load, image, initrd, strlen(argv[3]) + 1, argv[3], 0)) {
		perror("kexec_file_load");
		return 1;
	}

	sync();
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	perror("reboot");
	return 1;
}
