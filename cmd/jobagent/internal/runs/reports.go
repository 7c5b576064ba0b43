package runs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/targets"
)

// reported identifies a step on a target.
type reported struct {
	step             int
	server, database string
}

// WatchTrial returns a function that waits for the end of a trial, writes its plans into a
// directory, unless that is empty, and prints its reports. It returns an error if the trial did not
// succeed.
func WatchTrial(dir string) func(context.Context, *output.Printer, *controldb.Store, uuid.UUID, Wait) error {
	return func(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, w Wait) error {
		return watchTrial(ctx, p, store, id, w, dir)
	}
}

// watchTrial is [WatchTrial].
func watchTrial(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, w Wait, dir string) error {
	rows, messages, err := waitForReports(ctx, p, store, id, w)
	if err != nil {
		return err
	}
	trial := output.Trial{ID: id, Lifecycle: string(rows[0].Lifecycle), Targets: []output.TrialTarget{}}
	known := map[reported]int{}
	for _, e := range rows {
		if e.IsTarget() && e.StepID != nil {
			known[reported{*e.StepID, e.Server, e.Database}] = len(trial.Targets)
			trial.Targets = append(trial.Targets, output.TrialTarget{
				StepID: *e.StepID, Server: e.Server, Database: e.Database, Lifecycle: string(e.Lifecycle), Message: e.LastMessage,
			})
		}
	}
	for _, m := range messages {
		i, ok := known[reported{m.StepID, m.Server, m.Database}]
		if !ok {
			continue
		}
		t := &trial.Targets[i]
		if r, ok := targets.ParseReport(m.Message.Text); ok && m.Message.Kind == targets.KindAgent && r.Trial != nil {
			b := output.NewTrialBatch(*r.Trial)
			if r.Trial.Plan != nil && dir != "" {
				if b.Plan.Files, err = writePlans(dir, m, r.Trial); err != nil {
					return err
				}
			}
			t.Batches = append(t.Batches, b)
		} else {
			t.Messages = append(t.Messages, ViewMessage(m))
		}
	}
	if err := p.Emit(trial, func(out io.Writer) error { return output.WriteTrial(out, trial) }); err != nil {
		return err
	}
	return w.verdict(p, rows)
}

// writePlans writes the documents of a batch into a directory, and returns the names of the files.
func writePlans(dir string, m executions.ExecutionMessage, b *targets.TrialBatch) (files []string, err error) {
	for i, packed := range b.Plan.XML {
		document, err := targets.UnpackPlan(packed)
		if err != nil {
			return nil, err
		}
		name := filepath.Join(dir, planFile(m, b.Batch, i))
		if err := os.WriteFile(name, []byte(document), 0o600); err != nil { // it has texts of the script
			return nil, err
		}
		files = append(files, name)
	}
	return files, nil
}

// planFile names the file of the nth document of a batch. The names of a server and a database are
// cut and without what file systems refuse; a hash keeps apart those that become alike.
func planFile(m executions.ExecutionMessage, batch, n int) string {
	hash := sha256.Sum256([]byte(m.Server + "\x00" + m.Database))
	name := fmt.Sprintf("step%d_%s_%s_%x_batch%d", m.StepID, fileName(m.Server), fileName(m.Database), hash[:4], batch)
	if n > 0 {
		name += fmt.Sprintf("_%d", n+1)
	}
	return name + ".sqlplan"
}

// fileName returns at most 60 characters of a name. An underscore replaces each character that is
// not an ASCII letter, a digit, a hyphen or a period.
func fileName(name string) string {
	safe := []rune(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name))
	return string(safe[:min(len(safe), 60)])
}

// shownTargetsOfFinding is the number of targets that a group of findings names.
const shownTargetsOfFinding = 5

// WatchPreflight waits for the end of a preflight and prints its findings in groups. It returns an
// error if a target lacks what the scripts need.
func WatchPreflight(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, w Wait) error {
	rows, messages, err := waitForReports(ctx, p, store, id, w)
	if err != nil {
		return err
	}
	result := output.Preflight{ID: id, Lifecycle: string(rows[0].Lifecycle), Findings: []output.PreflightGroup{}}
	groups := map[[2]string]int{}
	add := func(f targets.Finding, server, database string) {
		key := [2]string{f.Check, f.Level}
		i, ok := groups[key]
		if !ok {
			i = len(result.Findings)
			groups[key] = i
			result.Findings = append(result.Findings, output.PreflightGroup{Check: f.Check, Level: f.Level, Text: f.Text})
		}
		g := &result.Findings[i]
		if g.Count++; len(g.Targets) < shownTargetsOfFinding {
			g.Targets = append(g.Targets, server+"/"+database)
		}
	}
	checked := map[reported]bool{}
	for _, m := range messages {
		r, ok := targets.ParseReport(m.Message.Text)
		if !ok || m.Message.Kind != targets.KindAgent {
			continue
		}
		checked[reported{m.StepID, m.Server, m.Database}] = true
		for _, f := range r.Preflight {
			if f.Level != targets.LevelOK {
				add(f, m.Server, m.Database)
			}
		}
	}
	result.Checked = len(checked)
	for _, e := range rows { // those that were not reached have no report
		if e.IsTarget() && e.StepID != nil && e.Lifecycle.IsFailure() && !checked[reported{*e.StepID, e.Server, e.Database}] {
			add(targets.Finding{Check: "reached", Level: targets.LevelFailure, Text: e.LastMessage}, e.Server, e.Database)
		}
	}
	if err := p.Emit(result, func(out io.Writer) error { return output.WritePreflight(out, result) }); err != nil {
		return err
	}
	return w.verdict(p, rows)
}

// waitForReports waits for the end of a run, and reads its rows and messages.
func waitForReports(
	ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, w Wait,
) ([]executions.Execution, []executions.ExecutionMessage, error) {
	waiting, cancel := w.limit(ctx)
	defer cancel()
	f := &follower{store: executions.On(store), screen: newScreen(waiting, p), news: news{repeated: terminal.Is(p.Stdout) && !p.Structured()}}
	rows, err := f.follow(waiting, id)
	if err != nil {
		if waiting.Err() != nil {
			err = w.goodbye(ctx, p.Stderr, "run "+id.String(), "jobagent execution watch "+id.String(), "jobagent job stop "+id.String())
		}
		return nil, nil, err
	}
	messages, err := executions.On(store).Messages(ctx, id)
	return rows, messages, err
}

// ViewMessage converts a message for -o json.
func ViewMessage(m executions.ExecutionMessage) output.Message {
	return output.Message{
		StepID: m.StepID, Server: m.Server, Database: m.Database, Attempt: m.Attempt, Ordinal: m.Ordinal, Kind: string(m.Message.Kind),
		Number: m.Message.Number, Severity: m.Message.Severity, State: m.Message.State, Line: m.Message.Line,
		Procedure: m.Message.Procedure, Text: m.Message.Text, Rows: m.Message.Rows,
	}
}
