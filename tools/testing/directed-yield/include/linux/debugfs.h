/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_DEBUGFS_H
#define _STUB_LINUX_DEBUGFS_H

#include <linux/types.h>

struct dentry;

void debugfs_create_bool(const char *name, unsigned int mode,
			 struct dentry *parent, bool *value);

#endif
