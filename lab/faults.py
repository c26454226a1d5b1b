# SPDX-License-Identifier: GPL-2.0
"""Breaks each rule of the user-space core once, and expects its named test to fail: `make check-faults`.

A fault replaces text of a copy of virt/kvm/directed_yield*.c that must occur there exactly once, so that the table has to be
kept when the core changes. The tests run that need no real threads: what a rule needs must fail each time.
"""

import shutil
import subprocess

import ktap
import paths
import run
import ui
import unit

SOURCE = paths.OURS / "virt" / "kvm"
OUTPUT = paths.BUILD / "unit-faults"
COPY = OUTPUT / "core"
PROGRAMS = ("unit", "order")
FLAVOUR = {"unit": "plain", "order": "model"}

CHOICE, READY, HOOKS = "directed_yield.c", "directed_yield_ready.c", "directed_yield_hooks.c"
# What is broken, where, the text, what it becomes, and a test that fails then.
FAULTS = (
    ("a vCPU may yield to itself", CHOICE, "vcpu == exit->me || ", "", "choice_never_oneself"),
    ("stale marks count", CHOICE, "|| !kvm_dy_ready_check(vcpu)", "", "ready_stale_mark_is_dropped_when_looked_at"),
    ("no ranks", CHOICE, "READ_ONCE(vcpu->dy.spinning) != exit->spinners", "false", "rank_others_come_before_spinners"),
    ("the ranks are swapped", CHOICE, "READ_ONCE(vcpu->dy.spinning) != exit->spinners",
     "READ_ONCE(vcpu->dy.spinning) == exit->spinners", "rank_others_come_before_spinners"),
    ("a kernel spins for user mode", CHOICE, "return !exit->in_kernel ||", "return true ||", "choice_kernel_spinner_skips_user_mode"),
    ("user mode waits for the kernel only", CHOICE, "return !exit->in_kernel ||", "return", "choice_user_spinner_takes_any_mode"),
    ("a woken vCPU's old mode counts", CHOICE, "!READ_ONCE(vcpu->preempted) ||", "", "choice_woken_goes_on_in_kernel"),
    ("a pending interrupt does not count", CHOICE, "kvm_arch_dy_has_pending_interrupt(vcpu) ||", "",
     "choice_pending_interrupt_beats_user_mode"),
    ("the mode at preemption does not count", CHOICE, "kvm_arch_vcpu_preempted_in_kernel(vcpu);", "false;",
     "choice_preempted_in_kernel_is_yielded_to"),
    ("the loaded mode counts", CHOICE, "kvm_arch_vcpu_preempted_in_kernel(vcpu);", "kvm_arch_vcpu_in_kernel(vcpu);",
     "field_loaded_state_of_others_is_never_read"),
    ("the turn is not kept", CHOICE, "			dy_turn(exit, i);\n			exit->boosted", "			exit->boosted",
     "choice_round_robin_from_the_last_boosted"),
    ("one turn for both ranks", CHOICE, "dy.last_boosted[exit->spinners], i);", "dy.last_boosted[0], i);",
     "choice_each_rank_goes_its_own_round"),
    ("the search begins with the last one", CHOICE, "dy.last_boosted[spinners]) + 1", "dy.last_boosted[spinners])",
     "choice_round_robin_from_the_last_boosted"),
    ("the search does not wrap", CHOICE, "dy_search(exit, 0, min(begin, online));", ";",
     "choice_begins_behind_the_last_boosted_and_wraps"),
    ("the search goes round twice", CHOICE, "dy_search(exit, 0, min(begin, online));", "dy_search(exit, 0, online);",
     "choice_no_effect_tries_the_next_one"),
    ("one more try where nothing is contended", CHOICE, "#define DY_MAX_UNCONTENDED	3", "#define DY_MAX_UNCONTENDED	4",
     "choice_stops_where_cpus_are_not_contended"),
    ("what is not contended does not end the exit", CHOICE, "exit.uncontended < DY_MAX_UNCONTENDED", "true",
     "rank_not_contended_ends_the_exit"),
    ("each rank has its own tries where nothing is contended", CHOICE, "	exit->spinners = spinners;\n",
     "	exit->spinners = spinners;\n	exit->uncontended = 0;\n", "rank_not_contended_counts_over_both"),
    ("no effect ends the search", CHOICE, "if (ret > 0) {", "if (ret >= 0) {", "choice_no_effect_tries_the_next_one"),
    ("the search goes on after a boost", CHOICE, "			exit->boosted = vcpu;\n			return true;",
     "			exit->boosted = vcpu;", "choice_ends_with_the_first_that_takes_effect"),
    ("the host's switch is dead", CHOICE, "!READ_ONCE(directed_yield) || ", "", "switch_of_the_host"),
    ("the VM's switch is dead", CHOICE, " || !READ_ONCE(me->kvm->dy.enabled)", "", "switch_of_one_vm"),
    ("a VM begins switched off", CHOICE, "kvm->dy.enabled = true;", "", "switch_of_one_vm"),
    ("a spinner does not say so", CHOICE, "WRITE_ONCE(me->dy.spinning, true);", "", "choice_spins_only_inside_the_exit"),
    ("a spinner says so for ever", CHOICE, "WRITE_ONCE(me->dy.spinning, false);", "", "choice_spins_only_inside_the_exit"),
    ("it is never the spinners' turn", CHOICE, "= exit.boosted && !exit.spinners;", "= false;",
     "rank_spinners_first_every_other_time"),
    ("it stays the spinners' turn", CHOICE, "= exit.boosted && !exit.spinners;", "= exit.boosted;",
     "rank_spinners_first_every_other_time"),
    ("the turn changes without a boost", CHOICE, "= exit.boosted && !exit.spinners;", "= !exit.spinners;",
     "rank_turn_of_the_spinners_ends_without_a_boost"),
    ("the second rank is not tried", CHOICE, "		dy_round(&exit, !spinners);", "		;",
     "rank_spinners_when_there_is_nobody_else"),
    ("the search for spinners is not bounded", CHOICE, "++exit->passed_over == DY_MAX_PASSED_OVER", "false",
     "choice_search_for_spinners_is_bounded_and_goes_on"),
    ("a bounded search begins where the last did", CHOICE, "			dy_turn(exit, i);\n			return true;",
     "			return true;", "choice_search_for_spinners_is_bounded_and_goes_on"),
    ("the search for others is bounded", CHOICE, "return exit->spinners && exit->me->dy.spinners_first &&", "return",
     "choice_search_for_others_is_not_bounded"),
    ("the last search for spinners is bounded", CHOICE, "exit->spinners && exit->me->dy.spinners_first &&", "exit->spinners &&",
     "choice_last_search_is_not_bounded"),
    ("those that would not do are counted", CHOICE, "	       dy_is_candidate(exit, vcpu) &&\n", "",
     "choice_passes_over_only_who_would_do"),
    ("a task's reference leaks", CHOICE, "	put_task_struct(task);\n", "", "choice_preempted_in_kernel_is_yielded_to"),
    ("yielding inside RCU", CHOICE, "	rcu_read_unlock();\n", "", "choice_preempted_in_kernel_is_yielded_to"),
    ("a dead thread is yielded to", CHOICE, "	if (!task)\n		return 0;\n", "", "choice_thread_that_exited_is_passed_over"),
    ("the target's CPU is not taken", CHOICE, "yield_to(task, true)", "yield_to(task, false)",
     "choice_preempted_in_kernel_is_yielded_to"),
    ("exits are not counted", CHOICE, "stat->exits++;", "", "statistics_count_each_exit"),
    ("no_candidate counts each exit", CHOICE, "+= !exit.tried;", "+= 1;", "statistics_count_each_exit"),
    ("tried counts exits", CHOICE, "stat->tried += exit.tried;", "stat->tried++;", "statistics_count_each_exit"),
    ("took_effect counts each exit", CHOICE, "+= !!exit.boosted;", "+= 1;", "statistics_count_each_exit"),
    ("the trace has no ready vCPUs", CHOICE, "		exit->ready++;\n", "", "trace_tells_each_exit"),
    ("the trace has indices", CHOICE, "exit.boosted->vcpu_id", "(int)exit.boosted->vcpu_idx", "trace_tells_each_exit"),

    ("a vCPU is marked before it has its index", READY, "	if (dy_ready_tracked(vcpu) &&\n	    !test_bit", "	if (!test_bit",
     "ready_untracked_vcpu_leaves_index_0_alone"),
    ("a vCPU without its index counts as ready", READY, "return dy_ready_tracked(vcpu) &&\n", "return\n",
     "ready_untracked_vcpu_leaves_index_0_alone"),
    ("a mark is written again", READY, "	if (dy_ready_tracked(vcpu) &&\n	    !test_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map))",
     "	if (dy_ready_tracked(vcpu))", "field_second_mark_writes_no_shared_line"),
    ("no barrier before the mark", READY, "	/* The right-hand barrier above; pairs with kvm_dy_ready_check()'s. */\n	smp_mb();\n",
     "", "order_look_and_preemption"),
    ("no barrier behind a drop", READY, "	smp_mb__after_atomic();\n", "", "order_look_and_preemption"),
    ("a drop does not look again", READY, "	if (!dy_ready_wants_cpu(vcpu))\n		return false;\n\n	dy_ready_mark",
     "	return false;\n\n	dy_ready_mark", "order_look_and_preemption"),
    ("a drop that was wrong stays", READY, "	dy_ready_mark(vcpu);\n	return true;", "	return true;", "order_look_and_preemption"),
    ("a stale mark stays", READY, "	clear_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);\n	/* The left", "	/* The left",
     "ready_stale_mark_is_dropped_when_looked_at"),
    ("a look writes where no mark is", READY, "	if (!kvm_vcpu_is_ready(vcpu))\n		return false;\n\n", "",
     "field_sleep_at_1_to_1_writes_no_shared_line"),
    ("the index is published after the flag", READY, "	smp_store_release(&vcpu->dy_tracked, true);",
     "	WRITE_ONCE(vcpu->dy_tracked, true);", "order_publication_of_the_index"),
    ("no barrier between flag and look", READY,
     "	/* The flag before the look; pairs with the smp_mb() in dy_ready_mark(). */\n	smp_mb();\n", "",
     "order_publication_and_preemption"),
    ("publication does not look", READY, "	if (READ_ONCE(vcpu->preempted) || kvm_vcpu_is_blocking(vcpu))\n		dy_ready_mark(vcpu);\n",
     "", "ready_publish_marks_what_was_preempted_before"),
    ("publication forgets sleepers", READY, "if (READ_ONCE(vcpu->preempted) || kvm_vcpu_is_blocking(vcpu))",
     "if (READ_ONCE(vcpu->preempted))", "ready_publish_marks_what_was_preempted_before"),
    ("publication marks everybody", READY, "if (READ_ONCE(vcpu->preempted) || kvm_vcpu_is_blocking(vcpu))", "",
     "ready_publish_marks_nobody_who_runs"),
    ("the mark stays while the vCPU runs", READY,
     "	if (kvm_vcpu_is_ready(vcpu))\n		clear_bit(vcpu->vcpu_idx, vcpu->kvm->dy_ready.map);\n", "",
     "ready_preempted_is_marked_until_it_runs"),
    ("each sched-in writes the set", READY, "	if (kvm_vcpu_is_ready(vcpu))\n		clear_bit", "	clear_bit",
     "field_sleep_at_1_to_1_writes_no_shared_line"),
    ("a preempted vCPU is not marked", READY, "sched_out(struct kvm_vcpu *vcpu)\n{\n	dy_ready_mark(vcpu);\n",
     "sched_out(struct kvm_vcpu *vcpu)\n{\n", "ready_preempted_is_marked_until_it_runs"),
    ("a woken vCPU is not marked", READY, "	if (kvm_vcpu_is_blocking(vcpu))\n		dy_ready_mark(vcpu);\n", "",
     "ready_woken_is_marked_until_it_runs"),
    ("a wake-up marks who runs", READY, "	smp_mb();\n	if (kvm_vcpu_is_blocking(vcpu))\n		dy", "	smp_mb();\n		dy",
     "ready_wake_up_of_a_running_one_marks_nobody"),
    ("no barrier before a waker's look", READY, "	smp_mb();\n	if (kvm_vcpu_is_blocking(vcpu))\n		dy",
     "	if (kvm_vcpu_is_blocking(vcpu))\n		dy", "order_sleep_and_wake_up"),
    ("preemption is no reason", READY, "	if (READ_ONCE(vcpu->preempted))\n		return true;\n", "",
     "ready_true_mark_stays_when_looked_at"),
    ("an event of one that runs is a reason", READY, "return kvm_vcpu_is_blocking(vcpu) && dy_ready_has_event(vcpu);",
     "return dy_ready_has_event(vcpu);", "ready_event_of_a_running_one_is_no_reason"),
    ("sleep is a reason", READY, "return kvm_vcpu_is_blocking(vcpu) && dy_ready_has_event(vcpu);",
     "return kvm_vcpu_is_blocking(vcpu);", "ready_reasons_to_wake_up"),
    ("an architecture's event is no reason", READY, "	if (kvm_arch_dy_runnable(vcpu))\n		return true;\n", "",
     "ready_reasons_to_wake_up"),
    ("the loaded state is asked for events", READY, "kvm_arch_dy_runnable(vcpu)", "kvm_arch_vcpu_runnable(vcpu)",
     "field_loaded_state_of_others_is_never_read"),
    ("a request to unblock is no reason", READY, "	if (kvm_test_request(KVM_REQ_UNBLOCK, vcpu))\n		return true;\n", "",
     "ready_reasons_to_wake_up"),
    ("an async page fault is no reason", READY, "	if (!list_empty_careful(&vcpu->async_pf.done))\n		return true;\n", "",
     "ready_reasons_to_wake_up"),
    ("the first word's mask is lost", READY, "BITMAP_FIRST_WORD_MASK(from)", "~0UL",
     "ready_next_finds_each_mark_and_stops_at_the_end"),
    ("the first word's mask stays", READY, "word++, mask = ~0UL", "word++", "ready_next_finds_each_mark_and_stops_at_the_end"),
    ("marks beyond the end count", READY, "min_t(unsigned int, end,\n				     word * BITS_PER_LONG + __ffs(bits))",
     "word * BITS_PER_LONG + __ffs(bits)", "ready_next_finds_each_mark_and_stops_at_the_end"),

    ("the default for events", HOOKS, "return kvm_arch_vcpu_runnable(vcpu);", "return false;", "hooks_defaults"),
    ("the default for the mode", HOOKS, "return kvm_arch_vcpu_in_kernel(vcpu);", "return true;", "hooks_defaults"),
    ("the default for interrupts", HOOKS, "return false;", "return true;", "hooks_defaults"),
)


def check(report):
    """Try all faults; report(ktap.Test) for each."""
    COPY.mkdir(parents=True, exist_ok=True)
    for name in (CHOICE, READY, HOOKS):
        shutil.copyfile(SOURCE / name, COPY / name)
    _build()
    for what, file, old, new, test in FAULTS:
        original = (SOURCE / file).read_text()
        if original.count(old) != 1:
            report(ktap.Test(what, ktap.FAIL, f"{file} has the text {original.count(old)} times"))
            continue
        (COPY / file).write_text(original.replace(old, new))
        try:
            _build()
            output = _run(test)
            caught = f"not ok 1 {test}" in output.splitlines()
            report(ktap.Test(f"{what}: {test} fails", ktap.PASS if caught else ktap.FAIL, "" if caught else "it does not",
                             output=[] if caught else output.splitlines()))
        except ui.LabError as error:
            report(ktap.Test(what, ktap.FAIL, "the fault does not build", output=str(error).splitlines()))
        shutil.copyfile(SOURCE / file, COPY / file)


def _build():
    targets = [OUTPUT / FLAVOUR[program] / program for program in PROGRAMS]
    run.output(unit.make("-s", "-j2", f"CORE_FOLDER={COPY}", *targets, output=OUTPUT), env=run.environment())


def _run(test):
    program = "order" if test.startswith("order_") else "unit"
    done = subprocess.run([OUTPUT / FLAVOUR[program] / program, test], capture_output=True, text=True, errors="replace",
                          timeout=unit.LIMIT_SECONDS, stdin=subprocess.DEVNULL)
    return done.stdout
