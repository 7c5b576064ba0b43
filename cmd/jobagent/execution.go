package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// executionView is a row of jobs.job_executions as -o json shows it.
type executionView struct {
	ID           uuid.UUID      `json:"job_execution_id"`
	JobName      string         `json:"job_name"`
	JobID        uuid.UUID      `json:"job_id"`
	JobVersion   int            `json:"job_version"`
	StepID       *int           `json:"step_id,omitempty"`
	Active       bool           `json:"is_active"`
	Lifecycle    jobs.Lifecycle `json:"lifecycle"`
	CreateTime   *time.Time     `json:"create_time,omitempty"`
	StartTime    *time.Time     `json:"start_time,omitempty"`
	EndTime      *time.Time     `json:"end_time,omitempty"`
	Attempts     int            `json:"current_attempts"`
	AttemptStart *time.Time     `json:"current_attempt_start_time,omitempty"`
	NextAttempt  *time.Time     `json:"next_attempt_start_time,omitempty"`
	LastMessage  string         `json:"last_message"`
	TargetType   string         `json:"target_type,omitempty"`
	TargetGroup  string         `json:"target_group_name,omitempty"`
	Server       string         `json:"target_server_name,omitempty"`
	Database     string         `json:"target_database_name,omitempty"`
	Unknown      bool           `json:"outcome_unknown,omitempty"`
}

// optional is nil for a zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// viewExecution turns a row into what is shown.
func viewExecution(e controldb.Execution) executionView {
	return executionView{
		ID: e.ID, JobName: e.JobName, JobID: e.JobID, JobVersion: e.JobVersion, StepID: e.StepID, Active: e.Active, Lifecycle: e.Lifecycle,
		CreateTime: optional(e.CreateTime), StartTime: optional(e.StartTime), EndTime: optional(e.EndTime),
		Attempts: e.Attempts, AttemptStart: optional(e.AttemptStart), NextAttempt: optional(e.NextAttempt),
		LastMessage: e.LastMessage, TargetType: e.TargetType, TargetGroup: e.TargetGroup, Server: e.Server, Database: e.Database, Unknown: e.OutcomeUnknown,
	}
}

// newExecutionCommand makes `jobagent execution`.
func newExecutionCommand(a *app) *cobra.Command {
	return newGroupCommand("execution", "Look at runs, and run again what went wrong",
		newExecutionListCommand(a), newExecutionShowCommand(a), newExecutionWatchCommand(a), newExecutionErrorsCommand(a), newExecutionExplainCommand(a), newExecutionRerunCommand(a))
}

func newExecutionListCommand(a *app) *cobra.Command {
	var f controldb.ExecutionFilter
	var lifecycles []string
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range lifecycles {
				l, err := jobs.ParseLifecycle(s)
				if err != nil {
					return usagef("--lifecycle: %w", err)
				}
				f.Lifecycles = append(f.Lifecycles, l)
			}
			if f.Limit < 1 {
				return usagef("--limit %d: must be 1 or more", f.Limit)
			}
			f.RootsOnly = true
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Executions(cmd.Context(), f)
				if err != nil {
					return err
				}
				views := make([]executionView, 0, len(list))
				for _, e := range list {
					views = append(views, viewExecution(e))
				}
				return a.emit(views, func(w io.Writer) error {
					t := newTable("EXECUTION ID", "JOB", "VERSION", "LIFECYCLE", "CREATED", "STARTED", "ENDED", "MESSAGE")
					for _, e := range views {
						t.add(e.ID, e.JobName, e.JobVersion, e.Lifecycle, e.CreateTime, e.StartTime, e.EndTime, shorten(e.LastMessage, 60))
					}
					return t.write(w)
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.JobName, "job", "", "only runs of this job")
	cmd.Flags().BoolVar(&f.ActiveOnly, "active", false, "only runs that have not ended")
	cmd.Flags().StringSliceVar(&lifecycles, "lifecycle", nil, "only these lifecycles, separated by commas")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "most runs to list")
	return cmd
}

// readRun reads all rows of a run that must exist.
func readRun(ctx context.Context, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	rows, err := store.Executions(ctx, controldb.ExecutionFilter{ID: id})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, exitWith(exitNotFound, fmt.Errorf("execution %s does not exist; jobagent execution list shows the latest", id))
	}
	return rows, nil
}

// parseExecutionID reads an argument. The zero GUID is refused: no run has it, and in a controldb.ExecutionFilter it means every run.
func parseExecutionID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return id, usagef("execution id %q is no GUID; jobagent execution list shows the latest", s)
	}
	if id == uuid.Nil {
		return id, usagef("execution id %q is the zero GUID, which no run has; jobagent execution list shows the latest", s)
	}
	return id, nil
}

// messageView is a row of jobs.job_execution_messages as -o json shows it.
type messageView struct {
	StepID    int    `json:"step_id"`
	Server    string `json:"target_server_name,omitempty"`
	Database  string `json:"target_database_name,omitempty"`
	Attempt   int    `json:"attempt"`
	Ordinal   int    `json:"ordinal"`
	Kind      string `json:"message_kind"`
	Number    int32  `json:"message_number,omitempty"`
	Severity  uint8  `json:"severity,omitempty"`
	State     uint8  `json:"state,omitempty"`
	Line      int32  `json:"line_number,omitempty"`
	Procedure string `json:"procedure_name,omitempty"`
	Text      string `json:"message,omitempty"`
	Rows      int64  `json:"row_count,omitempty"`
}

func newExecutionShowCommand(a *app) *cobra.Command {
	var withMessages bool
	cmd := &cobra.Command{
		Use: "show EXECUTION_ID", Short: "Show a run as a tree: its steps and their targets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := readRun(cmd.Context(), store, id)
				if err != nil {
					return err
				}
				if err := store.MarkUnknown(cmd.Context(), id, rows); err != nil {
					return err
				}
				reruns, err := store.ExecutionReruns(cmd.Context(), id)
				if err != nil {
					return err
				}
				var messages []controldb.ExecutionMessage
				if withMessages {
					if messages, err = store.ExecutionMessages(cmd.Context(), id); err != nil {
						return err
					}
				}
				views := make([]executionView, 0, len(rows))
				for _, e := range rows {
					views = append(views, viewExecution(e))
				}
				out := map[string]any{"executions": views}
				if withMessages {
					list := make([]messageView, 0, len(messages))
					for _, m := range messages {
						list = append(list, messageView{
							m.StepID, m.Server, m.Database, m.Attempt, m.Ordinal, string(m.Message.Kind), m.Message.Number, m.Message.Severity,
							m.Message.State, m.Message.Line, m.Message.Procedure, m.Message.Text, m.Message.Rows,
						})
					}
					out["messages"] = list
				}
				if len(reruns) > 0 {
					out["reruns"] = viewReruns(reruns)
				}
				return a.emit(out, func(w io.Writer) error {
					if err := printReruns(w, id, reruns); err != nil {
						return err
					}
					return printTree(w, rows, messages)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&withMessages, "messages", false, "show what each attempt said: PRINT, RAISERROR, row counts, errors")
	return cmd
}

// printTree shows a run for people.
func printTree(w io.Writer, rows []controldb.Execution, messages []controldb.ExecutionMessage) error {
	type place struct {
		step             int
		server, database string
	}
	said := map[place][]controldb.ExecutionMessage{}
	for _, m := range messages {
		p := place{m.StepID, m.Server, m.Database}
		said[p] = append(said[p], m)
	}
	var b strings.Builder
	for _, e := range rows {
		switch {
		case e.IsRoot():
			fmt.Fprintf(&b, "%s (version %d)  %s%s\n", e.JobName, e.JobVersion, e.Lifecycle, took(e))
			fmt.Fprintf(&b, "  %s\n", shorten(e.LastMessage, 160))
		case e.TargetType == "TargetGroup":
			fmt.Fprintf(&b, "├─ step %d on %s  %s%s\n", *e.StepID, e.TargetGroup, e.Lifecycle, took(e))
			if e.Lifecycle != jobs.Succeeded && e.LastMessage != "" {
				fmt.Fprintf(&b, "│    %s\n", shorten(e.LastMessage, 160))
			}
		default:
			unknown := ""
			if e.OutcomeUnknown {
				unknown = ", outcome unknown"
			}
			fmt.Fprintf(&b, "│  ├─ %s/%s  %s%s%s\n", e.Server, e.Database, e.Lifecycle, unknown, attempts(e))
			if e.Lifecycle != jobs.Succeeded && e.LastMessage != "" {
				fmt.Fprintf(&b, "│  │    %s\n", shorten(e.LastMessage, 400))
			}
			for _, m := range said[place{*e.StepID, e.Server, e.Database}] {
				fmt.Fprintf(&b, "│  │    [%d] %s\n", m.Attempt, shorten(messageText(m.Message), 400))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// messageText is a message as a query window shows it.
func messageText(m targets.Message) string {
	switch m.Kind {
	case targets.KindRows:
		return fmt.Sprintf("(%d rows affected)", m.Rows)
	case targets.KindError:
		at := ""
		if m.Procedure != "" {
			at = "procedure " + m.Procedure + ", "
		}
		return fmt.Sprintf("Msg %d, Level %d, State %d, %sLine %d: %s", m.Number, m.Severity, m.State, at, m.Line, m.Text)
	default:
		return m.Text
	}
}

// attempts says how often it was tried, where that was more than once, and how long it took.
func attempts(e controldb.Execution) string {
	if e.Attempts > 1 {
		return fmt.Sprintf(" after %d attempts%s", e.Attempts, took(e))
	}
	return took(e)
}

// took is how long an execution took, in brackets; nothing while it runs.
func took(e controldb.Execution) string {
	if e.StartTime.IsZero() || e.EndTime.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s)", e.EndTime.Sub(e.StartTime).Round(time.Millisecond))
}

func newExecutionWatchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "watch EXECUTION_ID", Short: fmt.Sprintf("Follow a run to its end; exit with %d if it does not succeed", exitRunFailed), Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				return a.watch(cmd.Context(), store, id)
			})
		},
	}
}

// watchInterval is how often a watched run is looked at.
const watchInterval = 500 * time.Millisecond

// progress counts the target rows of a run.
type progress struct{ total, active, failed, other int }

// count adds the targets of rows up.
func count(rows []controldb.Execution) progress {
	var p progress
	for _, e := range rows {
		if e.TargetType != "SqlDatabase" {
			continue
		}
		p.total++
		switch {
		case e.Active:
			p.active++
		case e.Lifecycle == jobs.Failed || e.Lifecycle == jobs.TimedOut:
			p.failed++
		case e.Lifecycle != jobs.Succeeded:
			p.other++
		}
	}
	return p
}

// watch follows a run to its end, on a terminal with a line of progress, and prints its tree.
func (a *app) watch(ctx context.Context, store *controldb.Store, id uuid.UUID) error {
	rows, err := a.follow(ctx, store, id)
	if err != nil {
		return err
	}
	if err := store.MarkUnknown(ctx, id, rows); err != nil {
		return err
	}
	root := rows[0]
	views := make([]executionView, 0, len(rows))
	for _, e := range rows {
		views = append(views, viewExecution(e))
	}
	if err := a.emit(map[string]any{"executions": views}, func(w io.Writer) error { return printTree(w, rows, nil) }); err != nil {
		return err
	}
	if root.Lifecycle == jobs.Succeeded || root.Lifecycle == jobs.SucceededWithSkipped {
		return nil
	}
	return exitWith(exitRunFailed, fmt.Errorf("run %s of job %s ended as %s; see jobagent execution errors %s", id, root.JobName, root.Lifecycle, id))
}

// follow waits for the end of a run and returns its rows, the root first. It shows progress where stderr is a terminal.
func (a *app) follow(ctx context.Context, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	live := isTerminal(a.stderr)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		rows, err := readRun(ctx, store, id)
		if err != nil {
			return nil, err
		}
		root := rows[0]
		if live {
			p := count(rows)
			fmt.Fprintf(a.stderr, "\r\x1b[K%s  %s: %d of %d targets done, %d failed", root.JobName, root.Lifecycle, p.total-p.active, p.total, p.failed)
		}
		if !root.Active {
			if live {
				fmt.Fprint(a.stderr, "\r\x1b[K")
			}
			return rows, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// errorGroup is one error and where it occurred.
type errorGroup struct {
	StepID  int      `json:"step_id"`
	State   string   `json:"lifecycle"`
	Message string   `json:"message"`
	Count   int      `json:"count"`
	Targets []string `json:"targets"`
}

// groupErrors collects the targets that did not succeed by step and message, most frequent first. Names of the target are taken out of
// the message, so that the same error on many targets is one.
func groupErrors(rows []controldb.Execution) []errorGroup {
	type key struct {
		step           int
		state, message string
	}
	groups := map[key]*errorGroup{}
	var order []*errorGroup
	resolved := map[int]bool{} // steps that have targets: what went wrong is told by these
	for _, e := range rows {
		if e.TargetType == "SqlDatabase" {
			resolved[*e.StepID] = true
		}
	}
	for _, e := range rows {
		bad := e.Lifecycle == jobs.Failed || e.Lifecycle == jobs.TimedOut || e.Lifecycle == jobs.Canceled || e.Lifecycle == jobs.WaitingForRetry
		if e.TargetType == "" || !bad || e.TargetType == "TargetGroup" && resolved[*e.StepID] {
			continue
		}
		target, message := e.TargetGroup, e.LastMessage
		if e.TargetType == "SqlDatabase" {
			target = e.Server + "/" + e.Database
			message = strings.NewReplacer("'"+e.Database+"'", "'…'", "'"+e.Server+"'", "'…'").Replace(message)
		}
		k := key{*e.StepID, string(e.Lifecycle), message}
		g := groups[k]
		if g == nil {
			g = &errorGroup{StepID: k.step, State: k.state, Message: message}
			groups[k] = g
			order = append(order, g)
		}
		g.Count++
		g.Targets = append(g.Targets, target)
	}
	slices.SortStableFunc(order, func(x, y *errorGroup) int {
		return cmp.Or(cmp.Compare(x.StepID, y.StepID), -cmp.Compare(x.Count, y.Count))
	})
	list := make([]errorGroup, 0, len(order))
	for _, g := range order {
		list = append(list, *g)
	}
	return list
}

func newExecutionErrorsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "errors EXECUTION_ID", Short: "List what went wrong in a run; the same error on many targets once, with its count", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := readRun(cmd.Context(), store, id)
				if err != nil {
					return err
				}
				groups := groupErrors(rows)
				return a.emit(groups, func(w io.Writer) error {
					t := newTable("STEP", "COUNT", "LIFECYCLE", "TARGETS", "MESSAGE")
					for _, g := range groups {
						t.add(g.StepID, g.Count, g.State, shorten(strings.Join(g.Targets, ", "), 40), shorten(g.Message, 300))
					}
					return t.write(w)
				})
			})
		},
	}
}
