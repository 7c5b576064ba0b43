package execution

import (
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/wording"
)

// viewExplanation converts an explanation for -o json.
func viewExplanation(e executions.Explanation) output.Explanation {
	v := output.Explanation{
		ID: e.ID, JobName: e.JobName, JobVersion: e.JobVersion, Lifecycle: e.Lifecycle, Active: e.Active,
		CreateTime: output.Optional(e.CreateTime), StartTime: output.Optional(e.StartTime),
		EndTime:         output.Optional(e.EndTime),
		StopRequestedAt: output.Optional(e.StopRequestedAt), StopRequestedBy: e.StopRequestedBy,
		Agents: e.Agents, Workers: e.Workers, Busy: e.Busy, Explanation: e.Text,
		AdvanceSkipped: output.Optional(e.AdvanceSkippedSince),
		Waits:          []output.Wait{}, Totals: append([]executions.WaitTotal{}, e.Totals...),
		Ends: output.Each(e.Ends, func(x executions.End) output.EndTotal { return output.EndTotal{End: x} }),
	}
	for _, w := range e.Waits {
		agent := ""
		if w.AgentID != uuid.Nil {
			agent = w.AgentID.String()
		}
		v.Waits = append(v.Waits, output.Wait{
			StepID:       w.StepID,
			Server:       w.Server,
			Database:     w.Database,
			Lifecycle:    w.Lifecycle,
			WaitsFor:     w.For,
			Explanation:  w.Text,
			Attempts:     w.Attempts,
			Position:     w.Position,
			Since:        output.Optional(w.Since),
			Until:        output.Optional(w.Until),
			LimitScope:   w.LimitScope,
			LimitRunning: w.LimitRunning,
			LimitMax:     w.LimitMax,
			AgentID:      agent,
			Host:         w.Host,
			Term:         int64(w.Term),
			SessionID:    w.SessionID,
		})
	}
	return v
}

func newExplainCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain EXECUTION_ID", Short: "Explain why a run waits, or why it ended as it did", Args: cobra.ExactArgs(1),
		RunE: connect.One(a.ReadStore, parseExecutionID, func(cmd *cobra.Command, id uuid.UUID, store *controldb.Store) error {
			e, err := executions.On(store).Explain(cmd.Context(), id)
			if err != nil {
				return err
			}
			if e.Active {
				if err := a.WarnPause(cmd.Context(), store); err != nil {
					return err
				}
			}
			v := viewExplanation(e)
			if v.AdvanceSkipped != nil {
				v.AdvanceLock = store.DescribeAdvanceLock(cmd.Context())
			}
			return a.Emit(v, func(w io.Writer) error { return printExplanation(cmd, w, v) })
		}),
	}
}

// printExplanation prints an explanation: a sentence, the waiting rows, their totals, and the
// totals of the rows that have ended.
func printExplanation(cmd *cobra.Command, w io.Writer, e output.Explanation) error {
	width, _, ok := terminal.Size(w)
	if ok {
		width = max(20, width-2)
	}
	fmt.Fprintf(w, "%s (version %d)  %s\n", terminal.Clean(e.JobName), e.JobVersion, e.Lifecycle)
	for _, line := range terminal.Wrap(terminal.Clean(output.Said(e.Explanation)), width) {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if e.Active {
		fmt.Fprintf(w, "  %s, %d of %s busy\n", wording.Count(e.Agents, "live agent"), e.Busy, wording.Count(e.Workers, "worker"))
	}
	if e.AdvanceLock != "" {
		fmt.Fprintf(w, "  the application lock jobagent.advance is held by: %s\n", e.AdvanceLock)
	}
	if len(e.Waits) > 0 {
		fmt.Fprintln(w)
		t := output.NewTable("STEP", "TARGET", "LIFECYCLE", "WAITS FOR", "SINCE", "WHY")
		for _, x := range e.Waits {
			target := x.Server
			if x.Database != "" {
				target += "/" + x.Database
			}
			why := x.Explanation
			if x.WaitsFor == "Callback" { // it names a view and a procedure; other texts may have messages of scripts
				why = command.TextInWords(cmd, why)
			}
			t.Add(x.StepID, target, x.Lifecycle, x.WaitsFor, x.Since, output.Said(why))
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	if len(e.Totals) > 0 {
		fmt.Fprintln(w)
		t := output.NewTable("STEP", "TARGETS WAIT FOR", "TOTAL")
		for _, x := range e.Totals {
			t.Add(x.StepID, x.For, x.Total)
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	if len(e.Ends) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	t := output.NewTable("STEP", "ENDED AS", "ERROR", "TARGETS", "DECIDES", "FIRST", "MESSAGE")
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
		if x.OutcomeUnknown {
			ended += " (outcome unknown)"
		}
		t.Add(x.StepID, ended, number, x.Total, x.Decides, first, output.Said(x.Message))
	}
	return t.Write(w)
}
