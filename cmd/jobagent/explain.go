package main

import (
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// explanationView is an explanation as -o json shows it.
type explanationView struct {
	ID              uuid.UUID      `json:"job_execution_id"`
	JobName         string         `json:"job_name"`
	JobVersion      int            `json:"job_version"`
	Lifecycle       jobs.Lifecycle `json:"lifecycle"`
	Active          bool           `json:"is_active"`
	CreateTime      *time.Time     `json:"create_time,omitempty"`
	StartTime       *time.Time     `json:"start_time,omitempty"`
	EndTime         *time.Time     `json:"end_time,omitempty"`
	StopRequestedAt *time.Time     `json:"stop_requested_at,omitempty"`
	StopRequestedBy string         `json:"stop_requested_by,omitempty"`
	Agents          int            `json:"live_agents"`
	Workers         int            `json:"workers"`
	Busy            int            `json:"busy_workers"`
	Explanation     string         `json:"explanation"`
	AdvanceSkipped  *time.Time     `json:"advance_skipped_since,omitempty"`
	AdvanceLock     string         `json:"advance_lock_holder,omitempty"`
	Waits           []waitView     `json:"waits"`
	Totals          []totalView    `json:"totals"`
	Ends            []endView      `json:"ends"`
}

// waitView is a row that is not final.
type waitView struct {
	StepID       *int           `json:"step_id,omitempty"`
	Server       string         `json:"server_name,omitempty"`
	Database     string         `json:"database_name,omitempty"`
	Lifecycle    jobs.Lifecycle `json:"lifecycle"`
	WaitsFor     string         `json:"waits_for"`
	Explanation  string         `json:"explanation"`
	Attempts     int            `json:"attempts,omitempty"`
	Position     int64          `json:"position,omitempty"`
	Since        *time.Time     `json:"since,omitempty"`
	Until        *time.Time     `json:"until_time,omitempty"`
	LimitScope   string         `json:"limit_scope,omitempty"`
	LimitRunning int            `json:"limit_running,omitempty"`
	LimitMax     int            `json:"max_concurrent_targets,omitempty"`
	AgentID      string         `json:"agent_id,omitempty"`
	Host         string         `json:"host_name,omitempty"`
	Term         int64          `json:"term_id,omitempty"`
	SessionID    int            `json:"session_id,omitempty"`
}

// totalView counts the targets of a step that wait for the same.
type totalView struct {
	StepID   int    `json:"step_id"`
	WaitsFor string `json:"waits_for"`
	Total    int    `json:"total"`
}

// endView is how targets of a step ended.
type endView struct {
	StepID      int            `json:"step_id"`
	Lifecycle   jobs.Lifecycle `json:"lifecycle"`
	ErrorNumber *int32         `json:"error_number,omitempty"`
	Total       int            `json:"total"`
	Unknown     bool           `json:"outcome_unknown"`
	Decides     bool           `json:"decides"`
	Server      string         `json:"server_name,omitempty"`
	Database    string         `json:"database_name,omitempty"`
	Message     string         `json:"last_message,omitempty"`
}

// viewExplanation turns an explanation into what is shown.
func viewExplanation(e controldb.Explanation) explanationView {
	v := explanationView{
		ID: e.ID, JobName: e.JobName, JobVersion: e.JobVersion, Lifecycle: e.Lifecycle, Active: e.Active,
		CreateTime: optional(e.CreateTime), StartTime: optional(e.StartTime), EndTime: optional(e.EndTime),
		StopRequestedAt: optional(e.StopRequestedAt), StopRequestedBy: e.StopRequestedBy,
		Agents: e.Agents, Workers: e.Workers, Busy: e.Busy, Explanation: e.Text, AdvanceSkipped: optional(e.AdvanceSkippedSince),
		Waits: []waitView{}, Totals: []totalView{}, Ends: []endView{},
	}
	for _, w := range e.Waits {
		agent := ""
		if w.AgentID != uuid.Nil {
			agent = w.AgentID.String()
		}
		v.Waits = append(v.Waits, waitView{
			w.StepID, w.Server, w.Database, w.Lifecycle, w.For, w.Text, w.Attempts, w.Position, optional(w.Since), optional(w.Until),
			w.LimitScope, w.LimitRunning, w.LimitMax, agent, w.Host, int64(w.Term), w.SessionID,
		})
	}
	for _, t := range e.Totals {
		v.Totals = append(v.Totals, totalView{t.StepID, t.For, t.Total})
	}
	for _, x := range e.Ends {
		v.Ends = append(v.Ends, endView{x.StepID, x.Lifecycle, x.ErrorNumber, x.Total, x.OutcomeUnknown, x.Decides, x.Server, x.Database, x.Message})
	}
	return v
}

func newExecutionExplainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "explain EXECUTION_ID", Short: "Say what each row of a run waits for, or why the run ended as it did", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				e, err := store.ExplainExecution(cmd.Context(), id)
				if err != nil {
					return err
				}
				v := viewExplanation(e)
				if v.AdvanceSkipped != nil {
					v.AdvanceLock = store.DescribeAdvanceLock(cmd.Context())
				}
				return a.emit(v, func(w io.Writer) error { return printExplanation(w, v) })
			})
		},
	}
}

// printExplanation shows an explanation for people: a sentence, what waits, how many, and how the rest ended.
func printExplanation(w io.Writer, e explanationView) error {
	fmt.Fprintf(w, "%s (version %d)  %s\n  %s\n", e.JobName, e.JobVersion, e.Lifecycle, shorten(e.Explanation, 400))
	if e.Active {
		fmt.Fprintf(w, "  %d agents alive, %d of their %d workers busy\n", e.Agents, e.Busy, e.Workers)
	}
	if e.AdvanceLock != "" {
		fmt.Fprintf(w, "  the application lock jobagent.advance is held by: %s\n", e.AdvanceLock)
	}
	if len(e.Waits) > 0 {
		fmt.Fprintln(w)
		t := newTable("STEP", "TARGET", "LIFECYCLE", "WAITS FOR", "SINCE", "WHY")
		for _, x := range e.Waits {
			target := x.Server
			if x.Database != "" {
				target += "/" + x.Database
			}
			t.add(x.StepID, target, x.Lifecycle, x.WaitsFor, x.Since, shorten(x.Explanation, 200))
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	if len(e.Totals) > 0 {
		fmt.Fprintln(w)
		t := newTable("STEP", "TARGETS WAIT FOR", "TOTAL")
		for _, x := range e.Totals {
			t.add(x.StepID, x.WaitsFor, x.Total)
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	if len(e.Ends) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := newTable("STEP", "ENDED AS", "ERROR", "TARGETS", "DECIDES", "FIRST", "MESSAGE")
	for _, x := range e.Ends {
		number := ""
		if x.ErrorNumber != nil {
			number = fmt.Sprint(*x.ErrorNumber)
		}
		first := x.Server
		if x.Database != "" {
			first += "/" + x.Database
		}
		ended := string(x.Lifecycle)
		if x.Unknown {
			ended += " (outcome unknown)"
		}
		t.add(x.StepID, ended, number, x.Total, x.Decides, first, shorten(x.Message, 200))
	}
	return t.write(w)
}
