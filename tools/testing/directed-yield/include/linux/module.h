/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _STUB_LINUX_MODULE_H
#define _STUB_LINUX_MODULE_H

/* A test sets the parameter through stub_param_NAME. */
#define module_param(name, type, mode)	type *stub_param_##name = &(name)
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, #name)
#define EXPORT_SYMBOL_GPL(name)		extern __typeof__(name) name

#endif
