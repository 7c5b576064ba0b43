package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

// Trial is a trial that has ended.
type Trial struct {
	ID        uuid.UUID     `json:"job_execution_id"`
	Lifecycle string        `json:"lifecycle"`
	Targets   []TrialTarget `json:"targets"`
}

// TrialTarget is what a trial of a step reports of a target.
type TrialTarget struct {
	StepID    int          `json:"step_id"`
	Server    string       `json:"target_server_name"`
	Database  string       `json:"target_database_name"`
	Lifecycle string       `json:"lifecycle"`
	Message   string       `json:"last_message,omitempty"`
	Batches   []TrialBatch `json:"batches,omitempty"`
	Messages  []Message    `json:"messages,omitempty"` // what the script and the server said
}

// remark returns what the message of the target says beyond its lifecycle and its batches.
func (t TrialTarget) remark() string {
	for _, b := range t.Batches {
		if b.Reason != "" && strings.HasSuffix(t.Message, b.Reason) {
			return ""
		}
	}
	return executions.Remark(jobs.Lifecycle(t.Lifecycle), t.Message)
}

// TrialBatch is what a trial reports of a batch of a script.
type TrialBatch struct {
	Batch      int                 `json:"batch"`               // from 1
	Line       int                 `json:"line"`                // of the script, from 1
	Runs       int                 `json:"runs"`                // how often it ran: the number after GO, or 1
	Verdict    string              `json:"verdict"`             // Ran, Failed, EndedTransaction or Skipped
	Reason     string              `json:"reason,omitempty"`    // of a verdict other than Ran
	Warnings   []string            `json:"warnings,omitempty"`  // what is not rolled back
	DurationMS int64               `json:"duration_ms"`         // by the agent's clock
	Rows       int64               `json:"rows"`                // sum of the row counts
	LogBytes   *int64              `json:"log_bytes,omitempty"` // of the transaction log; absent: could not be read
	Locks      []targets.TrialLock `json:"locks,omitempty"`     // that the transaction holds after the batch
	Objects    []string            `json:"objects,omitempty"`   // on which there are locks
	Plan       *TrialPlan          `json:"plan,omitempty"`      // the estimated plan, with --plan
	Unread     []string            `json:"unread,omitempty"`    // what could not be read, and why
}

// TrialPlan is the estimated plan of a batch.
type TrialPlan struct {
	Count      int                     `json:"count"`                // of statements
	Cost       float64                 `json:"cost"`                 // of all statements, in the optimizer's unit
	Statements []targets.PlanStatement `json:"statements,omitempty"` // the first 50
	Warnings   []string                `json:"warnings,omitempty"`   // missing indexes, conversions and so on
	Files      []string                `json:"files,omitempty"`      // with --plan-dir
}

// NewTrialBatch converts a report.
func NewTrialBatch(b targets.TrialBatch) TrialBatch {
	var plan *TrialPlan
	if b.Plan != nil {
		plan = &TrialPlan{Count: b.Plan.Count, Cost: b.Plan.Cost, Statements: b.Plan.Statements, Warnings: b.Plan.Warnings}
	}
	return TrialBatch{
		Batch: b.Batch, Line: b.Line, Runs: b.Runs, Verdict: string(b.Verdict), Reason: b.Reason, Warnings: b.Warnings,
		DurationMS: b.DurationMS, Rows: b.Rows, LogBytes: b.LogBytes, Locks: b.Locks, Objects: b.Objects, Plan: plan, Unread: b.Unread,
	}
}

// Preflight is a preflight that has ended.
type Preflight struct {
	ID        uuid.UUID        `json:"job_execution_id"`
	Lifecycle string           `json:"lifecycle"`
	Checked   int              `json:"checked"` // targets of steps that were checked
	Findings  []PreflightGroup `json:"findings"`
}

// PreflightGroup are findings of one check with one level.
type PreflightGroup struct {
	Check   string   `json:"check"`   // reached, state, writable, version and so on
	Level   string   `json:"level"`   // failure or warning
	Count   int      `json:"count"`   // targets of steps
	Text    string   `json:"text"`    // of the first of them
	Targets []string `json:"targets"` // the first five, as SERVER/DATABASE
}

// WritePreflight writes a preflight for people.
func WritePreflight(w io.Writer, p Preflight) error {
	fmt.Fprintf(w, "%s checked: %s\n", wording.Count(p.Checked, "target"), p.Lifecycle)
	for _, g := range p.Findings {
		more := ""
		if g.Count > len(g.Targets) {
			more = ", …"
		}
		fmt.Fprintf(w, "%s %s on %s: %s\n  %s%s\n", g.Level, g.Check, wording.Count(g.Count, "target"), OneLine(g.Text), OneLine(strings.Join(g.Targets, ", ")), more)
	}
	return nil
}

// WriteTrial writes a trial for people.
func WriteTrial(w io.Writer, t Trial) error {
	for i, target := range t.Targets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s/%s, step %d: %s\n", OneLine(target.Server), OneLine(target.Database), target.StepID, target.Lifecycle)
		if said := target.remark(); said != "" {
			fmt.Fprintf(w, "  %s\n", Said(said))
		}
		for _, b := range target.Batches {
			writeBatch(w, b)
		}
		for _, m := range target.Messages {
			if m.Text != "" {
				fmt.Fprintf(w, "  %s: %s\n", strings.ToLower(m.Kind), OneLine(m.Text))
			}
		}
	}
	return nil
}

// writeBatch writes the report on a batch in some lines.
func writeBatch(w io.Writer, b TrialBatch) {
	fmt.Fprintf(w, "  batch %d, line %d: %s", b.Batch, b.Line, b.Verdict)
	if b.Runs > 1 {
		fmt.Fprintf(w, " %d times", b.Runs)
	}
	if b.Runs > 0 {
		fmt.Fprintf(w, ", %d ms, %s", b.DurationMS, wording.Count(b.Rows, "row"))
	}
	if b.LogBytes != nil {
		fmt.Fprintf(w, ", %d bytes of log", *b.LogBytes)
	}
	fmt.Fprintln(w)
	line := func(name string, parts []string) {
		if len(parts) > 0 {
			fmt.Fprintf(w, "    %s: %s\n", name, OneLine(strings.Join(parts, ", ")))
		}
	}
	if b.Reason != "" {
		line("reason", []string{b.Reason})
	}
	var locks []string
	for _, l := range b.Locks {
		text := strings.Join(slices.DeleteFunc([]string{l.Mode, l.Type, l.Object}, func(s string) bool { return s == "" }), " ")
		if l.Count > 1 {
			text += fmt.Sprintf(" (%d)", l.Count)
		}
		locks = append(locks, text)
	}
	line("locks", locks)
	line("objects", b.Objects)
	for _, text := range b.Warnings {
		line("warning", []string{text})
	}
	if b.Plan != nil {
		line("plan", []string{b.Plan.summary()})
		for _, text := range b.Plan.Warnings {
			line("plan warns", []string{text})
		}
		for _, name := range b.Plan.Files {
			line("plan file", []string{name})
		}
	}
	for _, text := range b.Unread {
		line("not read", []string{text})
	}
}

// shownStatements is how many statements of a plan people see.
const shownStatements = 5

// summary returns a plan in one line: its statements, the most expensive ones first.
func (p TrialPlan) summary() string {
	text := wording.Count(p.Count, "statement")
	list := slices.DeleteFunc(slices.Clone(p.Statements), func(s targets.PlanStatement) bool { return s.Rows == nil && s.Cost == nil })
	if len(list) == 0 {
		return text + ", without estimates"
	}
	slices.SortStableFunc(list, func(a, b targets.PlanStatement) int { return cmp.Compare(value(b.Cost), value(a.Cost)) })
	var parts []string
	for _, s := range list[:min(len(list), shownStatements)] {
		parts = append(parts, fmt.Sprintf("%s %s rows, cost %s", s.Type, figure(value(s.Rows)), figure(value(s.Cost))))
	}
	if len(list) > shownStatements {
		parts = append(parts, "…")
	}
	return fmt.Sprintf("%s, estimated cost %s: %s", text, figure(p.Cost), strings.Join(parts, "; "))
}

// value returns a figure that may be absent.
func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// figure writes an estimate with four digits, or as a whole number.
func figure(f float64) string {
	if f >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}
