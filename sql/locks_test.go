package sqlfs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
