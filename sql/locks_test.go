package sqlfs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// orderOfLocks returns the order of locks in DESIGN.md.
func orderOfLocks(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("DESIGN.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "## Order of locks\n\n")
	require.True(t, ok)
	line, _, _ := strings.Cut(section, "A procedure takes")
	line = regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(line, "")
	order := map[string]int{}
	for i, table := range strings.Split(line, "→") {
		order[strings.Trim(table, " .\n")] = i + 1
	}
	require.Contains(t, order, "jobs")
	require.Contains(t, order, "job_executions")
	return order
}

// outOfOrder returns the waits of a procedure for a table that comes before a table of which it has
// locked rows, except for rows that it has locked itself.
func outOfOrder(order map[string]int, w *lockWalk) []string {
	var wrong []string
	for _, x := range w.waits {
		for _, h := range x.held {
			if order[x.wanted.table] > 0 && order[x.wanted.table] < order[h.table] && x.wanted.own == 0 {
				wrong = append(wrong, fmt.Sprintf("%s locks %s after %s", x.wanted.where(), x.wanted.table, h.table))
			}
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// TestOrderOfLocks: every procedure locks jobs, target groups, calendars and schedules in the order
// of DESIGN.md. Later tables are locked under jobagent.advance, with READPAST, or by the term that
// holds the task: TestLocks has the reasons.
func TestOrderOfLocks(t *testing.T) {
	order := orderOfLocks(t)
	for table, place := range order {
		if place > order["schedules"] {
			delete(order, table)
		}
	}
	r := readTree(t)
	for _, name := range r.roots() {
		require.Empty(t, outOfOrder(order, r.walkLocks(name, true, false)), name)
	}
	bad := newTree(t,
		"CREATE TABLE jobs_internal.jobs (job_id BIGINT NOT NULL, note NVARCHAR(MAX) NULL, CONSTRAINT PK_jobs PRIMARY KEY (job_id));",
		"CREATE TABLE jobs_internal.schedules (id BIGINT NOT NULL, note NVARCHAR(MAX) NULL, CONSTRAINT PK_schedules PRIMARY KEY (id));",
		`CREATE OR ALTER PROCEDURE jobs_internal.bad AS
BEGIN
    BEGIN TRANSACTION;
    UPDATE s SET s.note = N'' FROM jobs_internal.schedules AS s;
    UPDATE j SET j.note = N'' FROM jobs_internal.jobs AS j;
    COMMIT TRANSACTION;
END;`)
	require.Equal(t, []string{"jobs_internal.bad:5 locks jobs after schedules"}, outOfOrder(order, bad.walkLocks("jobs_internal.bad", true, false)))
}

// lockedByPasses are tables whose rows passes and outcomes change when they have locked them by
// their clustered keys.
var lockedByPasses = []string{"job_executions", "step_executions", "target_executions", "task_executions"}

// foundByChangedKey returns the changes of rows of these tables, by UPDATE without READPAST, that
// find the rows by an index whose keys other changes add and remove. Such a change locks the key,
// and then the row; a pass that ends the row has locked it, and then wants the key (1205).
func foundByChangedKey(r *tree, name string, s statement) []string {
	var found []string
	w := &lockWalk{tree: r, snapshot: true, calls: []string{name}}
	for _, n := range s.own() {
		for _, sc := range scopes(n) {
			if _, ok := sc.node.(*syntax.UpdateStmt); !ok {
				continue
			}
			for _, src := range sources(sc.from) {
				table, ok := src.(*syntax.TableName)
				if !ok || aliasOf(src) != sc.target || !slices.Contains(lockedByPasses, table.Name.Last()) || hint(table, "READPAST") {
					continue
				}
				if i := w.seek(r.table(table.Name), sc, sc.target); !i.clustered && r.isChanged(table.Name.Last(), i) {
					found = append(found, fmt.Sprintf("%s are found by %s", table.Name.Last(), i.name))
				}
			}
		}
	}
	return found
}

// isChanged reports whether an UPDATE changes the keys of an index, or which rows it has.
func (r *tree) isChanged(table string, i *schemaIndex) bool {
	for _, p := range r.procedures {
		for _, sc := range scopes(p) {
			u, ok := sc.node.(*syntax.UpdateStmt)
			if !ok {
				continue
			}
			target := slices.IndexFunc(sources(u.From), func(s syntax.TableSource) bool {
				n, ok := s.(*syntax.TableName)
				return ok && aliasOf(s) == sc.target && n.Name.Last() == table
			})
			if target >= 0 && slices.Contains(changedIndexes(r.tables[table], u), i) {
				return true
			}
		}
	}
	return false
}

// TestPassesDoNotCross: procedures that people call find the rows that they change as passes lock
// them.
func TestPassesDoNotCross(t *testing.T) {
	requireKnown(t, map[string]bool{
		"jobs_internal.fire_schedules": true, // it has locked these runs by their clustered keys
	}, readTree(t).finds(foundByChangedKey))
}

// TestReadRunsAreKept: who creates a run that reads the targets of other runs locks these runs
// before, so that a purge, which skips locked runs, does not delete them before it can see the new
// run.
func TestReadRunsAreKept(t *testing.T) {
	r := readTree(t)
	for _, name := range []string{"jobs.sp_rerun_job_execution", "jobs.sp_undo_rollout", "jobs_internal.start_triggered_runs"} {
		kept := r.walkLocks(name, true, true).kept
		ofRuns := func(kind string) int {
			return slices.IndexFunc(kept, func(a *access) bool {
				return a.table == "job_executions" && a.kind == kind && (kind == "insert" || a.index == "PK_job_executions" && a.mode == modeU)
			})
		}
		locked, inserted := ofRuns("hint"), ofRuns("insert")
		assert.True(t, 0 <= locked && locked < inserted, "%s locks at %d and inserts at %d", name, locked, inserted)
	}
}

// TestStartsOfRollOutsExclude: a job has one active roll-out, so all that start one hold the job's
// row in a mode that excludes the others.
func TestStartsOfRollOutsExclude(t *testing.T) {
	r := readTree(t)
	for _, name := range []string{
		"jobs.sp_start_job", "jobs.sp_undo_rollout", "jobs_internal.fire_schedules", "jobs_internal.start_buffered_runs", "jobs_internal.start_triggered_runs",
	} {
		assert.True(t, slices.ContainsFunc(r.walkLocks(name, true, true).kept, func(a *access) bool {
			return a.table == "jobs" && a.index == "PK_jobs" && a.mode == modeU
		}), name)
	}
}
