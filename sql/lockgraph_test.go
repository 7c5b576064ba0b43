package sqlfs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roots are the procedures that clients call.
func (r *tree) roots() []string {
	called := map[string]bool{}
	for name, list := range r.called {
		for _, other := range list {
			called[other] = called[other] || other != name
		}
	}
	var list []string
	for name := range r.procedures {
		if !called[name] || name == "jobs_internal.delete_leftovers" || strings.HasPrefix(name, "jobs.") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// deadlock is a pair of transactions that wait for each other.
type deadlock struct {
	first, second  wait
	holds1, holds2 *access // what the first one holds and the second one requests, and vice versa
}

// String names the tables, and an example of statements.
func (d deadlock) String() string {
	return fmt.Sprintf("%s has %s (%s) and wants %s (%s), %s has %s (%s) and wants %s (%s)",
		d.first.wanted.where(), d.holds1, d.holds1.where(), d.first.wanted, d.first.wanted.kind,
		d.second.wanted.where(), d.holds2, d.holds2.where(), d.second.wanted, d.second.wanted.kind)
}

// key returns the statements' procedures and the tables that they request, in the order of their
// names.
func (d deadlock) key() string {
	a := shortName(d.first.wanted.procedure) + " wants " + d.first.wanted.table
	b := shortName(d.second.wanted.procedure) + " wants " + d.second.wanted.table
	return min(a, b) + ", " + max(a, b)
}

// meets returns the lock that another transaction may hold and for which w waits, if any.
func (w wait) meets(other wait) *access {
	for i, h := range other.held {
		if h.table == w.wanted.table && conflicts(w.wanted.mode, h.mode) && apart(w.wanted, h, w.held, other.held[:i]) == "" {
			return h
		}
	}
	return nil
}

// cycles lists tables whose rows two transactions may lock by two indexes in opposite orders, and
// what follows.
var cycles = map[string]string{
	"terms":              "At the edge of a lease a pass may meet a renewal; both are repeated (1205).",
	"step_executions":    "Claims skip locked rows, and nobody else changes a claimed step before its outcome.",
	"schedule_backfills": "purge_history deletes those that have ended days ago; others change open ones.",
	"schedule_skips":     "Two deletions of agents may meet; both are repeated (1205).",
	"secret_data_keys":   "A key that has data keys of deleted secrets may be retired while an agent deletes these; the agent repeats its call (1205).",
	"jobs":               "A job of a collection is locked by its id and not by its name; a change of the same job by its name may be the victim (1205).",
	"alert_channels":     "A rule that names a channel may be changed while that channel is deleted; one of the two is the victim (1205).",
}

// crosses reports whether two transactions hold keys of one row in two indexes of a table, and each
// wants the key that the other one holds.
func crosses(a, b wait, g, h *access) bool {
	return g.index == b.wanted.index && h.index == a.wanted.index && g.index != h.index && cycles[g.table] == ""
}

// deadlocks returns the pairs of waits of two transactions that may wait for each other. Only those
// pairs are compared in which each has locks in the table that the other one wants, which are few.
func deadlocks(p, q []wait) []deadlock {
	wanting := map[string][]wait{}
	for _, b := range q {
		wanting[b.wanted.table] = append(wanting[b.wanted.table], b)
	}
	var found []deadlock
	for _, a := range p {
		for _, table := range a.tables {
			for _, b := range wanting[table] {
				if slices.ContainsFunc(a.wanted.under, func(name string) bool { return slices.Contains(b.wanted.under, name) }) {
					continue
				}
				if h := a.meets(b); h != nil {
					if g := b.meets(a); g != nil && (g.table != h.table || crosses(a, b, g, h)) {
						found = append(found, deadlock{first: a, second: b, holds1: g, holds2: h})
					}
				}
			}
		}
	}
	return found
}

// running are the tables of active executions. Only one agent uses a row of them at a time, by its
// term and by the state of the row. A callback belongs to its attempt; a report locks nothing else.
// The value of a probe belongs to its target, and passes read it when its run has ended.
var running = []string{"agents", "terms", "task_executions", "callbacks", "target_executions", "target_queues", "step_executions", "job_executions", "rollout_probe_values"}

// reason explains why two procedures never wait for each other in tables in which both lock rows.
// An empty name stands for every procedure.
type reason struct {
	a, b   string
	tables []string
	why    string
	// proof names what makes the reason true: a check of testenv/invariant, which simulations and
	// the crash harness evaluate; a constraint of a table; or "lock TABLE", whose row the first
	// procedure holds before it locks rows of these tables.
	proof string
}

// lists are the tables of lists of targets that are being written, and of the steps that they
// follow.
var lists = append([]string{"step_lists", "list_parts", "step_execution_causes"}, running...)

// differentRows lists pairs of procedures that lock rows of the same tables, but never the same
// rows.
var differentRows = []reason{
	{"delete_leftovers", "", append([]string{"jobs", "job_versions", "schedules", "schedule_skips", "step_commands", "job_steps", "job_step_dependencies", "step_execution_causes", "secrets", "secret_data_keys", "rest_jobs", "rest_schedules", "rollouts", "rollout_waves", "rollout_targets", "rollout_paces"}, running...),
		"It deletes rows of purged runs, and of deleted jobs without runs. No other procedure takes a new lock on these rows: a lock on jobs requires deleted_at IS NULL, and tasks, targets and steps in use belong to active runs.", "I04_rows_in_use"},
	{"advance_job_agent", "", []string{"limits"},
		"It deletes the limit of scope Agent, whose job_id is NULL, so no deleted job has it.", "CK_limits_job_id"},
	{"set_capacity", "", []string{"jobs", "limits", "job_agent"},
		"It changes the limit of scope Agent, whose job_id is NULL: SQL Server checks no foreign key for it, and no deleted job has it. sp_set_limit finds it by the same key of UQ_limits_name.", "CK_limits_job_id"},
	{"record_outcomes", "record_outcomes", running,
		"One term holds a task, and one task holds a target or step that is in progress. Two calls for the same term first take the tasks in the order of their ids.", "I04_rows_in_use"},
	{"record_outcomes", "advance", running,
		"advance itself changes targets and steps that no task holds; outcomes change those that a task holds.", "I04_rows_in_use"},
	{"write_list", "", lists,
		"It writes targets of a step that is InProgress and in step_lists, or whose resolution the caller holds. No other procedure changes such a step, or reads its targets: claims, outcomes, stop requests and time limits take targets of steps whose lists are complete. The job's row is locked, so one session at a time writes the list.", "I15_lists_being_written"},
	{"change_rollout", "", append([]string{"rollouts", "rollout_waves", "rollout_targets"}, running...),
		"It holds the row of the roll-out before. A pass changes waves and targets of a roll-out only while it holds that row, which it takes with READPAST.", "lock rollouts"},
	{"complete_resolution", "", lists,
		"The parts are those of a task that the caller's term holds, and the step has no other task and no row in step_lists before.", "I15_lists_being_written"},
	{"record_outcomes", "skip_actions", running,
		"It skips steps that are Created, which no task has or has had.", "I04_rows_in_use"},
	{"record_outcomes", "end_callbacks", running,
		"It changes steps whose targets are known; outcomes change steps that a resolution holds.", "I04_rows_in_use"},
	{"record_outcomes", "end_steps", running, "The same.", "I04_rows_in_use"},
	{"record_outcomes", "park_executions", running, "The same.", "I04_rows_in_use"},
	{"record_outcomes", "turn_back", running,
		"turn_back changes targets and steps that wait for an attempt, so no task holds them, and terms that last.", "I04_rows_in_use"},
	{"turn_back", "claim_unlimited_targets", running,
		"A step with targets to claim has a list, so neither its own attempt waits nor does a rerun begin it.", "I04_rows_in_use"},
	{"record_outcomes", "release_targets", running,
		"release_targets changes targets that are held, so they wait for an attempt, and no task holds them.", "I04_rows_in_use"},
	{"release_targets", "claim_unlimited_targets", running,
		"A step with targets to claim has a list, so no rerun begins it.", "I04_rows_in_use"},
	{"record_outcomes", "claim_unlimited_targets", running,
		"Claimed rows are not held by a task, and a step with targets to claim is not resolved a second time.", "I04_rows_in_use"},
	{
		"advance",
		"claim_unlimited_targets",
		running,
		"A step with targets to claim has targets that are not final, so advance does not change its row.",
		"I06_parents_follow_children",
	},
	{
		"purge_history",
		"activate_schedule",
		[]string{"schedules", "schedule_buffer"},
		"A schedule is deleted only when it has no buffered instants, so no row of schedule_buffer is deleted with it.", "FK_schedule_buffer_schedules",
	},
	{"check_sealed_keys", "sp_retire_secret_key", []string{"secret_keys", "secrets", "secret_data_keys"},
		"A session that stores several secrets holds the locks on all keys since it stored the first one.", "lock secret_keys"},
	{"purge_history", "skip_buffered", []string{"schedules", "schedule_buffer"}, "The same.", "FK_schedule_buffer_schedules"},
	{"stop_rest_runs", "", running,
		"Its caller has locked targets that were never claimed, of runs that it stops. A pass that holds the row of a run while it changes targets has found that the run has ended, or was parked, so all of its targets were claimed.", "I06_parents_follow_children"},
	{"sp_set_target_tags", "sp_set_target_tags", []string{"targets", "target_tags"},
		"The tags are those of databases whose rows the call has locked, or inserted, before: in the order of their ids, known ones first.", "lock targets"},
	{"raise_alerts", "", []string{"alerts", "alert_deliveries", "alert_runs", "alert_run_limits"},
		"One evaluation runs at a time, under the row of alert_state. It holds the alerts that it changes, skipping those that others hold, before it changes their deliveries; so do the others.", "lock alert_state"},
	{"resolve_alerts", "", []string{"alerts", "alert_deliveries", "alert_run_limits"}, "The same.", "lock alert_state"},
}

// differentReads lists such pairs for reads, which wait without READ_COMMITTED_SNAPSHOT.
var differentReads = []reason{
	{"write_list", "", append([]string{"rollout_targets"}, running...),
		"It reads the targets of a wave that has an active run. A pass assigns and records targets of waves that have none, and procedures that people call change those of waves that have not started.", "I17_waves_in_order"},
	{
		"match_tags",
		"register_targets",
		append([]string{"targets"}, running...),
		"A pass that assigns the targets of a roll-out gives it these, and it reads the tags of each by key, not the table of targets.", "FK_target_tags_targets",
	},
	{
		"purge_history",
		"start_triggered_runs",
		[]string{"schedules", "job_executions"},
		"It reads the own schedules of jobs that it has locked, which are deleted only with their jobs.", "FK_schedules_jobs",
	},
	{"close_alerts", "notify_alerts", []string{"alerts", "alert_deliveries", "alert_run_limits"}, "One evaluation runs at a time.", "lock alert_state"},
	{
		"fire_schedules",
		"copy_steps",
		[]string{"jobs", "job_versions", "job_steps"},
		"It reads the current version, those of active runs, and the steps of the former, by key; what is being added belongs to the next version.", "I03_frozen_target_list",
	},
	{
		"purge_history",
		"start_buffered_runs",
		[]string{"schedules", "job_executions"},
		"It finds buffered instants by an index of schedules with such instants, which has no deleted schedules.", "FK_schedule_buffer_schedules",
	},
	{
		"sp_delete_alert_channel",
		"state_of_alert",
		[]string{"alert_channels", "alert_rule_channels"},
		"The channels that it reads are locked with the list of the rule, or used by the rule, so that none of them is being deleted.", "lock alert_channels",
	},
}

// index returns the index of the reason that excludes a deadlock; -1 means that there is none.
func (d deadlock) index(reasons []reason) int {
	a, b := shortName(d.first.wanted.procedure), shortName(d.second.wanted.procedure)
	return slices.IndexFunc(reasons, func(x reason) bool {
		return (x.a == a && (x.b == b || x.b == "") || x.a == b && (x.b == a || x.b == "")) &&
			slices.Contains(x.tables, d.first.wanted.table) && slices.Contains(x.tables, d.second.wanted.table)
	})
}

// locksOf returns the lock walks of all procedures that clients call.
func (r *tree) locksOf(snapshot bool) map[string]*lockWalk {
	walks := map[string]*lockWalk{}
	for _, name := range r.roots() {
		walks[name] = r.walkLocks(name, snapshot, false)
	}
	return walks
}

// graph lists the waits as "jobs U -> schedules U" (held, requested), with the procedures. Sources
// and targets have their indexes.
func graph(walks map[string]*lockWalk) map[string][]string {
	edges := map[string][]string{}
	for name, w := range walks {
		for _, x := range w.waits {
			for _, h := range x.held {
				if h.table != x.wanted.table && h.kind != "foreign key" {
					e := fmt.Sprintf("%s -> %s", h, x.wanted)
					edges[e] = append(edges[e], shortName(name))
				}
			}
		}
	}
	for e := range edges {
		slices.Sort(edges[e])
		edges[e] = slices.Compact(edges[e])
	}
	return edges
}

// distinct returns the waits of one procedure without those that differ only in the index.
func distinct(list []wait) []wait {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(w wait) bool {
		a := w.wanted
		key := fmt.Sprint(a.where(), a.table, a.mode, a.kind, a.own, a.under, len(w.held))
		known := seen[key]
		seen[key] = true
		return known
	})
}

// allDeadlocks returns the deadlocks of every two procedures, and of each procedure with itself.
func allDeadlocks(walks map[string]*lockWalk) []deadlock {
	var found []deadlock
	names := slices.Sorted(maps.Keys(walks))
	for _, w := range walks {
		w.waits = distinct(w.waits)
	}
	for i, p := range names {
		for _, q := range names[i:] {
			found = append(found, deadlocks(walks[p].waits, walks[q].waits)...)
		}
	}
	return found
}

// report logs findings as errors, each kind once with some examples.
func report(t *testing.T, found []deadlock) {
	t.Helper()
	kinds := map[string][]string{}
	for _, d := range found {
		kinds[d.key()] = append(kinds[d.key()], d.String())
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		slices.Sort(kinds[k])
		list := slices.Compact(kinds[k])
		t.Errorf("%s:\n    %s", k, strings.Join(list[:min(3, len(list))], "\n    "))
	}
}

// TestLocks: with READ_COMMITTED_SNAPSHOT, no two procedures wait for each other's rows of two
// tables, or for keys of one row in two indexes. Rule "order" covers rows of one table. -v prints
// the graph. The embedded server executes one writing request of a database at a time, so it never
// shows such deadlocks.
func TestLocks(t *testing.T) {
	walks := readTree(t).locksOf(true)
	if testing.Verbose() {
		edges := graph(walks)
		for _, e := range slices.Sorted(maps.Keys(edges)) {
			t.Logf("%s: %s", e, strings.Join(edges[e], ", "))
		}
	}
	report(t, unexplained(t, allDeadlocks(walks), differentRows))
}

// unexplained returns the deadlocks without a reason. It fails for a reason that is not needed.
func unexplained(t *testing.T, list []deadlock, reasons []reason) []deadlock {
	t.Helper()
	used := map[int]bool{}
	var found []deadlock
	for _, d := range list {
		if i := d.index(reasons); i >= 0 {
			used[i] = true
		} else {
			found = append(found, d)
		}
	}
	for i, x := range reasons {
		if !used[i] {
			t.Errorf("the reason for %s and %s is no longer needed", x.a, x.b)
		}
	}
	return found
}

// TestReasonsAreProved: what makes a reason true exists, and a lock that a reason names is held.
func TestReasonsAreProved(t *testing.T) {
	walks := readTree(t).locksOf(false)
	schema, err := filepath.Glob("schema/*.sql")
	require.NoError(t, err)
	var tables strings.Builder
	for _, file := range schema {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tables.Write(text)
	}
	for _, x := range append(slices.Clone(differentRows), differentReads...) {
		name := fmt.Sprintf("the reason for %q and %q", x.a, x.b)
		if table, ok := strings.CutPrefix(x.proof, "lock "); ok {
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Values(walks)), func(w *lockWalk) bool {
				return slices.ContainsFunc(w.waits, func(y wait) bool {
					return shortName(y.wanted.procedure) == x.a && slices.Contains(x.tables, y.wanted.table) &&
						slices.ContainsFunc(y.held, func(h *access) bool { return h.table == table })
				})
			}), "%s: no lock on %s", name, table)
			continue
		}
		if strings.HasPrefix(x.proof, "I") {
			require.FileExists(t, filepath.Join("..", "testenv", "invariant", "checks", x.proof+".sql"), name)
			continue
		}
		require.NotEmpty(t, x.proof, name)
		require.Contains(t, tables.String(), "CONSTRAINT "+x.proof+" ", name)
	}
}

// byPasses are tables that only passes and other calls of agents change, beside those of running.
var byPasses = []string{"window_answers", "gated_targets", "target_gates", "set_asides"}

// TestLocksWithoutSnapshot: without READ_COMMITTED_SNAPSHOT reads wait, too. Passes may then be
// deadlock victims (1205), which agents repeat. Procedures that change definitions never are.
func TestLocksWithoutSnapshot(t *testing.T) {
	var found []deadlock
	for _, d := range allDeadlocks(readTree(t).locksOf(false)) {
		agents := func(x wait) bool { return slices.Contains(append(slices.Clone(running), byPasses...), x.wanted.table) }
		if d.index(differentRows) < 0 && !(agents(d.first) && agents(d.second)) {
			found = append(found, d)
		}
	}
	report(t, unexplained(t, found, differentReads))
}

// passes returns the procedures that agents and fronts call by themselves: those of schema
// jobs_internal that a role may execute.
func (r *tree) passes() []string {
	return slices.DeleteFunc(slices.Clone(r.granted), func(name string) bool {
		return !strings.HasPrefix(name, "jobs_internal.") || r.procedures[name] == nil
	})
}

// rolledOut are the tables of roll-outs.
var rolledOut = []string{"rollouts", "rollout_waves", "rollout_targets"}

// held is why a pass does not wait for them.
const held = "A pass holds the row of the roll-out, which it takes with READPAST, and so do the procedures that people call."

// delays lists where a procedure that agents and fronts call may wait for the open transaction of
// another session, or only seems to. a is the procedure that waits; b is empty.
var delays = []reason{
	{a: "delete_leftovers", tables: []string{
		"jobs", "job_versions", "job_steps", "job_step_dependencies", "step_commands", "job_executions", "schedules", "schedule_skips", "limits", "secrets", "secret_data_keys",
		"rollouts", "rollout_waves", "rollout_targets", "rollout_paces", "rollout_probe_values",
	}, why: "Nobody else uses the rows that it deletes: see differentRows."},
	{a: "advance_rollout", tables: rolledOut, why: held},
	{a: "assign_rollout_targets", tables: rolledOut, why: held},
	{a: "hold_empty_waves", tables: rolledOut, why: held},
	{a: "judge_probe", tables: rolledOut, why: held},
	{a: "enter_wave", tables: rolledOut, why: held},
	{a: "judge_wave", tables: rolledOut, why: held},
	{a: "preflight_wave", tables: rolledOut, why: held},
	{a: "record_wave", tables: rolledOut, why: held},
	{a: "start_wave", tables: rolledOut, why: held},
	{a: "turn_back_rollouts", tables: rolledOut, why: held},
	{a: "set_capacity", tables: []string{"jobs"}, why: "The limit of scope Agent has no job_id, so no foreign key is checked."},
	{a: "set_capacity", tables: []string{"limits"}, why: "It waits for an open change of the same limit; only operations on the job agent wait."},
	{a: "advance_job_agent", tables: []string{"limits"}, why: "It waits for an open change of the same limit; only operations on the job agent wait."},
	{a: "ensure_system_jobs", tables: []string{"jobs", "schedules"},
		why: "It locks the system job and its schedule, and inserts only when the first agent starts. No run waits for it."},
	{a: "purge_history", tables: []string{"schedule_skips", "schedule_backfills", "schedule_buffer"},
		why: "It deletes rows that have been complete for days, and schedules without buffered instants."},
	{a: "delete_secrets", tables: []string{"secrets", "secret_data_keys"}, why: "It has locked the secrets that it deletes, skipping those of others."},
	{a: "delete_alerts", tables: []string{"alert_deliveries"}, why: "It deletes deliveries of alerts that it has locked, or that have ended."},
	{a: "begin_alert_delivery", tables: []string{"alert_deliveries"}, why: "Only the notification of that alert or channel waits."},
	{a: "end_alert_delivery", tables: []string{"alert_deliveries"}, why: "The same."},
	{a: "raise_alerts", tables: []string{"alerts"}, why: "It changes only alerts that it has locked, skipping those of others."},
	{a: "resolve_alerts", tables: []string{"alerts"}, why: "Its callers have locked the alerts, skipping those of others."},
	{a: "skip_buffered", tables: []string{"schedules"},
		why: "A pass has locked the schedule before, and ensure_system_jobs changes the schedule of the system job, which names no calendar."},
	{a: "reseal_secret", tables: []string{"secrets", "secret_data_keys", "secret_keys"}, why: "Only the sealing of that secret anew waits."},
	{a: "check_sealed_keys", tables: []string{"secret_keys"}, why: "The same."},
	{a: "register_targets", tables: []string{"targets", "target_tags"},
		why: "It waits for an open change of the tags of the same database. Only the registration of databases waits; runs do not need it."},
	{a: "sp_set_target_tags", tables: []string{"targets", "target_tags", "window_state"},
		why: "Only a resolution whose query returns other tags than its databases have waits, by set_query_tags: the tags decide on windows, so its run must not begin without them."},
}

// delayed returns the waits of passes for locks that an open transaction may hold after it has
// called a procedure, and the indexes of the delays that explain others.
func (r *tree) delayed(procedure string, queued map[string]bool, passes ...*lockWalk) (found []string, explained map[int]bool) {
	explained = map[int]bool{}
	note := func(a *access, format string, args ...any) {
		i := slices.IndexFunc(delays, func(x reason) bool {
			return x.a == shortName(a.procedure) && slices.Contains(x.tables, a.table)
		})
		if i >= 0 {
			explained[i] = true
		} else {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	kept := r.walkLocks(procedure, true, true).kept
	for _, h := range kept {
		if h.mode == modeS && queued[h.table] {
			h.mode = modeX // in effect: see queued
		}
	}
	for _, q := range passes {
		for _, n := range q.kept {
			for _, h := range kept {
				if n.kind == "insert" && h.gap && h.table == n.table && h.index == n.index {
					note(n, "%s inserts into a gap of %s, which %s has locked", n.where(), n, h.where())
				}
			}
		}
		for _, w := range q.waits {
			for i, h := range kept {
				if h.table == w.wanted.table && conflicts(w.wanted.mode, h.mode) && apart(w.wanted, h, w.held, kept[:i]) == "" {
					note(w.wanted, "%s wants %s (%s), which %s has", w.wanted.where(), w.wanted, w.wanted.kind, h.where())
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), explained
}

// queued returns the tables on whose rows some procedure waits for an exclusive lock. While it
// waits for a shared lock of an open transaction, all later requests wait behind it, shared ones,
// too
// (https://learn.microsoft.com/sql/relational-databases/sql-server-transaction-locking-and-row-versioning-guide).
func queued(walks map[string]*lockWalk) map[string]bool {
	tables := map[string]bool{}
	for _, w := range walks {
		for _, x := range w.waits {
			if x.wanted.mode == modeX {
				tables[x.wanted.table] = true
			}
		}
	}
	return tables
}

// TestOpenTransactions: a transaction that calls any public procedure and then stays open delays
// only that job or schedule (I14). With READ_COMMITTED_SNAPSHOT, no pass waits for a lock of the
// transaction.
func TestOpenTransactions(t *testing.T) {
	r := readTree(t)
	var walks []*lockWalk
	used := map[int]bool{}
	waiting := queued(r.locksOf(true))
	require.Greater(t, len(r.passes()), 30)
	for _, q := range r.passes() {
		walks = append(walks, r.walkLocks(q, true, false))
	}
	for _, p := range r.roots() {
		if strings.HasPrefix(p, "jobs.") {
			found, explained := r.delayed(p, waiting, walks...)
			assert.Empty(t, found, p)
			maps.Copy(used, explained)
		}
	}
	for i, x := range delays {
		assert.True(t, used[i], "the reason for %s and %v is no longer needed", x.a, x.tables)
	}
}

// TestJobAgentIsNotLocked: only procedures that change the job agent, and refuse to run inside a
// transaction of the caller, lock its row. A lock that a caller keeps, even a shared one, would
// stop all schedules: a change of the state waits for it, and later readers wait for the change.
func TestJobAgentIsNotLocked(t *testing.T) {
	r := readTree(t)
	for _, p := range r.roots() {
		if p == "jobs_internal.advance_job_agent" || p == "jobs_internal.start_term" ||
			p == "jobs_internal.controller_pass" || p == "jobs_internal.fire_schedules" {
			continue // agents and fronts call them, never in a transaction
		}
		require.NotContains(t, tablesOf(r.walkLocks(p, true, true).kept), "job_agent", p)
	}
	require.Contains(t, tablesOf(r.walkLocks("jobs.sp_disable_job_agent", true, false).kept), "job_agent")
}

// tablesOf returns the tables of accesses.
func tablesOf(list []*access) []string {
	tables := make([]string, 0, len(list))
	for _, a := range list {
		tables = append(tables, a.table)
	}
	return tables
}

// TestLockModel: the model finds its deadlocks, and accepts the reasons.
func TestLockModel(t *testing.T) {
	const tables = `CREATE TABLE jobs_internal.jobs (job_id BIGINT NOT NULL, note NVARCHAR(MAX) NULL, CONSTRAINT PK_jobs PRIMARY KEY (job_id));
CREATE TABLE jobs_internal.things (id BIGINT NOT NULL, job_id BIGINT NOT NULL, name NVARCHAR(10) NULL, note NVARCHAR(MAX) NULL,
    CONSTRAINT PK_things PRIMARY KEY (id), CONSTRAINT UQ_things_name UNIQUE (name),
    CONSTRAINT FK_things_jobs FOREIGN KEY (job_id) REFERENCES jobs_internal.jobs (job_id));`
	const (
		job      = "UPDATE j SET j.note = N'' FROM jobs_internal.jobs AS j WHERE j.job_id = @id;\n"
		thing    = "UPDATE x SET x.note = N'' FROM jobs_internal.things AS x WHERE x.id = @id;\n"
		insert   = "INSERT INTO jobs_internal.things (id, job_id) SELECT 1, @id;\n"
		pass     = "SELECT @n = COUNT(x.note) FROM jobs_internal.things AS x WITH (UPDLOCK, READPAST) WHERE x.id = @id;\n"
		look     = "SELECT @n = COUNT(*) FROM jobs_internal.things AS x;\n"
		inside   = "EXECUTE @n = sp_getapplock @Resource = N'one', @LockMode = N'Exclusive';\n"
		callOf   = "EXECUTE jobs_internal.c @id = @id;\n"
		giveUp   = "IF @n = 1\nBEGIN\n    COMMIT TRANSACTION;\n    RETURN 0;\nEND;\n"
		pickJobs = "INSERT INTO @v (job_id) SELECT j.job_id FROM jobs_internal.jobs AS j WITH (UPDLOCK, READPAST);\n"
		byList   = "UPDATE j SET j.note = N'' FROM @v AS v INNER JOIN jobs_internal.jobs AS j ON j.job_id = v.job_id;\n"
		gap      = "SELECT @n = COUNT(*) FROM jobs_internal.jobs AS j WITH (UPDLOCK, HOLDLOCK) WHERE j.job_id = @id;\n"
		newJob   = "INSERT INTO jobs_internal.jobs (job_id) SELECT @id;\n"
		byName   = "UPDATE x SET x.name = N'' FROM jobs_internal.things AS x WHERE x.name = N'a';\n"
		rename   = "UPDATE x SET x.name = N'' FROM jobs_internal.things AS x WHERE x.id = @id;\n"
		notList  = "UPDATE j SET j.note = N'' FROM jobs_internal.jobs AS j WHERE NOT EXISTS (SELECT 1 FROM @v AS v WHERE v.job_id = j.job_id);\n"
	)
	trees := func(p, q string) *tree {
		var texts []string
		for table := range strings.SplitSeq(tables, "\nCREATE") {
			texts = append(texts, "CREATE"+strings.TrimPrefix(table, "CREATE"))
		}
		for name, body := range map[string]string{"jobs_internal.p": p, "jobs_internal.q": q, "jobs_internal.c": thing} {
			texts = append(texts, "CREATE OR ALTER PROCEDURE "+name+"\n    @id BIGINT\nAS\nBEGIN\nDECLARE @n INT;\nDECLARE @v TABLE (job_id BIGINT NOT NULL PRIMARY KEY);\n"+body+"END;")
		}
		return newTree(t, texts...)
	}
	between := func(body string) string { return "BEGIN TRANSACTION;\n" + body + "COMMIT TRANSACTION;\n" }
	for name, test := range map[string]struct {
		p, q               string
		snapshot, deadlock bool
	}{
		"Inverted":        {between(job + thing), between(thing + job), true, true},
		"SameOrder":       {between(job + thing), between(job + thing), true, false},
		"NoTransaction":   {between(job + thing), thing + job, true, false},
		"Called":          {between(job + callOf), between(thing + job), true, true},
		"ForeignKey":      {between(job + thing), between(thing + insert), true, true},
		"ReadPast":        {between(job + pass), between(thing + job), true, false},
		"Versions":        {between(job + look), between(thing + job), true, false},
		"NoVersions":      {between(job + look), between(thing + job), false, true},
		"ApplicationLock": {between(inside + job + thing), between(inside + thing + job), true, false},
		"GivenUp":         {between(job + giveUp + thing), between(thing + job), true, true},
		"TwoIndexes":      {between(byName), between(rename), true, true},
		"OneIndex":        {between(rename), between(rename), true, false},
		"AfterCommit":     {between(job) + thing, between(thing + job), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := trees(test.p, test.q)
			p, q := r.walkLocks("jobs_internal.p", test.snapshot, false), r.walkLocks("jobs_internal.q", test.snapshot, false)
			require.Equal(t, test.deadlock, len(deadlocks(p.waits, q.waits)) > 0)
		})
	}
	for name, test := range map[string]struct {
		pass    string
		delayed bool
	}{
		"Waits":    {job, true},
		"ReadPast": {between(pickJobs), false},
		"List":     {between(pickJobs + byList), false},
		"NotList":  {between(pickJobs + notList), true},
		"Refers":   {insert, true},
		"Others":   {thing, false},
	} {
		t.Run("Delayed"+name, func(t *testing.T) {
			r := trees(job, test.pass)
			found, _ := r.delayed("jobs_internal.p", nil, r.walkLocks("jobs_internal.q", true, false))
			require.Equal(t, test.delayed, len(found) > 0)
		})
	}
	t.Run("DelayedBehindAChange", func(t *testing.T) {
		r := trees("SELECT @n = COUNT(x.note) FROM jobs_internal.things AS x WITH (REPEATABLEREAD) WHERE x.id = @id;\n",
			"SELECT @n = COUNT(x.note) FROM jobs_internal.things AS x WITH (REPEATABLEREAD) WHERE x.id = @id;\n")
		pass := r.walkLocks("jobs_internal.q", true, false)
		found, _ := r.delayed("jobs_internal.p", nil, pass)
		require.Empty(t, found, "shared locks")
		change := queued(map[string]*lockWalk{"c": r.walkLocks("jobs_internal.c", true, false)})
		found, _ = r.delayed("jobs_internal.p", change, pass)
		require.NotEmpty(t, found)
	})
	for name, test := range map[string]struct {
		call    string
		delayed bool
	}{
		"Range":  {gap, true},
		"NoLock": {"SELECT @n = COUNT(*) FROM jobs_internal.jobs AS j WHERE j.job_id = @id;\n", false},
		"Other":  {"SELECT @n = COUNT(*) FROM jobs_internal.things AS x WITH (UPDLOCK, HOLDLOCK) WHERE x.id = @id;\n", false},
	} {
		t.Run("Gap"+name, func(t *testing.T) {
			r := trees(test.call, newJob)
			found, _ := r.delayed("jobs_internal.p", nil, r.walkLocks("jobs_internal.q", true, false))
			require.Equal(t, test.delayed, len(found) > 0)
		})
	}
}

// TestAlertsDoNotWaitForPasses: an evaluation of alerts waits for no run that the open transaction
// of a pass has entered: in an outage passes take long, and an evaluation has a time limit.
func TestAlertsDoNotWaitForPasses(t *testing.T) {
	for _, w := range readTree(t).walkLocks("jobs_internal.evaluate_alerts", true, false).waits {
		if w.wanted.table == "alert_runs" {
			require.NotZero(t, w.wanted.own, "%s: %s waits: want READPAST, or a list of locked rows", w.wanted.where(), w.wanted)
		}
	}
}
