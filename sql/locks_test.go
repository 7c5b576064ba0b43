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
)

// belongsTo are tables whose rows are locked with a row of another one, which stands for them in the order of locks.
var belongsTo = map[string]string{"schedule_buffer": "schedules", "schedule_backfills": "schedules", "schedule_skips": "schedules"}

// orderOfLocks is the order that DESIGN.md gives.
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

var (
	mentions = regexp.MustCompile(`(?:FROM|JOIN) jobs_internal\.([a-z_]+) AS ([a-z]+)(?: WITH \(([A-Z, ]+)\))?`)
	changes  = regexp.MustCompile(`(?:^|\s)(?:UPDATE|DELETE) ([a-z]+)\s`)
	calls    = regexp.MustCompile(`EXECUTE (?:@[a-z]+ = )?(jobs(?:_internal)?\.[a-z_]+)`)
	literals = regexp.MustCompile(`N?'(?:[^']|'')*'`)
)

// lockStep is what one statement locks.
type lockStep struct {
	where      string
	begin, end bool     // of a transaction
	waits      []string // tables of which it locks rows until the transaction ends
	skips      []string // the same, but it leaves out what others have locked
	looks      []string // tables that it reads: it waits for those who have changed rows, and keeps no lock
}

// lockSteps is what a procedure locks, statement by statement, with the procedures that it calls.
func lockSteps(t *testing.T, byName map[string]Description, name string) []lockStep {
	var steps []lockStep
	for statement := range strings.SplitSeq(literals.ReplaceAllString(code(byName[name].Object), "''"), ";") {
		text := strings.Join(strings.Fields(statement), " ")
		step := lockStep{where: name, begin: strings.HasSuffix(text, "BEGIN TRANSACTION"), end: strings.HasSuffix(text, "COMMIT TRANSACTION")}
		changed := map[string]bool{}
		for _, m := range changes.FindAllStringSubmatch(text, -1) {
			changed[m[1]] = true
		}
		for _, m := range mentions.FindAllStringSubmatch(text, -1) {
			table := m[1]
			if owner := belongsTo[table]; owner != "" {
				table = owner
			}
			switch {
			case strings.Contains(m[3], "READCOMMITTEDLOCK"): // waits for nobody, as it comes with READPAST, and keeps no lock
				require.Contains(t, m[3], "READPAST", "%s in %s", table, name)
			case strings.Contains(m[3], "READPAST"):
				step.skips = append(step.skips, table)
			case m[3] != "" || changed[m[2]]:
				step.waits = append(step.waits, table)
			default:
				step.looks = append(step.looks, table)
			}
		}
		steps = append(steps, step)
		if m := calls.FindStringSubmatch(text); m != nil && m[1] != name {
			steps = append(steps, lockSteps(t, byName, m[1])...)
		}
	}
	return steps
}

// outOfOrder is what a procedure locks too late: a table after a later one. That it has locked a row before is no excuse, since what
// a lock for update lets others share, a change does not. To look at jobs counts, too, after schedules, unless the job is
// locked: those who have changed a job go on to its schedules.
func outOfOrder(order map[string]int, steps []lockStep) []string {
	var wrong, held []string
	open := false
	for _, s := range steps {
		if s.begin || s.end || !open {
			held, open = nil, s.begin
		}
		after := slices.Concat(held, s.waits)
		for _, table := range s.waits {
			for _, other := range held {
				if order[table] > 0 && order[table] < order[other] {
					wrong = append(wrong, fmt.Sprintf("%s locks %s after %s", s.where, table, other))
				}
			}
		}
		if slices.Contains(s.looks, "jobs") && slices.Contains(after, "schedules") && !slices.Contains(after, "jobs") {
			wrong = append(wrong, s.where+" looks at jobs after it has locked schedules")
		}
		held = slices.Concat(held, s.waits, s.skips)
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// TestOrderOfLocks: nobody takes jobs, calendars and schedules in another order than DESIGN.md says: on SQL Server two that do
// would now and then wait for each other, and one of them be given up (1205). The embedded server locks whole databases, and
// never shows it. What comes after them is locked under jobagent.advance, or with READPAST; and nobody who has shared a job with
// others, as firings do, locks a target group.
func TestOrderOfLocks(t *testing.T) {
	order := orderOfLocks(t)
	for table, place := range order {
		if place > order["schedules"] || table == "target_groups" {
			delete(order, table)
		}
	}
	list, byName := all(t)
	called := map[string]bool{} // these are seen where they are called, with what the caller has locked
	for _, d := range list {
		for _, m := range calls.FindAllStringSubmatch(code(d.Object), -1) {
			called[m[1]] = true
		}
	}
	for _, d := range list {
		if d.Kind == KindProcedure && !called[d.Name] {
			assert.Empty(t, outOfOrder(order, lockSteps(t, byName, d.Name)), d.Name)
		}
	}
}

// TestOrderOfLocksIsSeen: a job that is locked, or looked at, after its schedule is found, in a procedure that is called as well.
func TestOrderOfLocksIsSeen(t *testing.T) {
	text := func(body string) Description {
		return Description{Object: Object{Kind: KindProcedure, Text: body}}
	}
	const (
		job      = "UPDATE j SET j.description = N'a;b' FROM jobs_internal.jobs AS j;\n"
		schedule = "SELECT @n = COUNT(*) FROM jobs_internal.schedules AS s WITH (UPDLOCK);\n"
		look     = "SELECT @n = COUNT(*) FROM jobs_internal.jobs AS j;\n"
		skip     = "SELECT @n = COUNT(*) FROM jobs_internal.jobs AS j WITH (UPDLOCK, READPAST);\n"
	)
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"InOrder":      {"BEGIN TRANSACTION;" + job + schedule + look + "COMMIT TRANSACTION;", nil},
		"Inverted":     {"BEGIN TRANSACTION;" + schedule + job + "COMMIT TRANSACTION;", []string{"p locks jobs after schedules"}},
		"Looks":        {"BEGIN TRANSACTION;" + schedule + look + "COMMIT TRANSACTION;", []string{"p looks at jobs after it has locked schedules"}},
		"Skips":        {"BEGIN TRANSACTION;" + schedule + skip + look + "COMMIT TRANSACTION;", nil},
		"ByItself":     {schedule + job, nil},
		"OneStatement": {"UPDATE s SET s.state = N'' FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON 1 = 1;", []string{"p looks at jobs after it has locked schedules"}},
		"Called":       {"BEGIN TRANSACTION;" + schedule + "EXECUTE jobs_internal.q;" + "COMMIT TRANSACTION;", []string{"jobs_internal.q locks jobs after schedules"}},
	} {
		t.Run(name, func(t *testing.T) {
			byName := map[string]Description{"p": text(test.body), "jobs_internal.q": text(job)}
			require.Equal(t, test.want, outOfOrder(orderOfLocks(t), lockSteps(t, byName, "p")))
		})
	}
}
