// Package execution has the commands that show and repeat runs.
package execution

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// NewCommand returns `jobagent execution`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("execution", "Show runs, and repeat failed targets",
		newListCommand(a), newShowCommand(a), newWatchCommand(a), newErrorsCommand(a), newExplainCommand(a), newRerunCommand(a),
		newCallbacksCommand(a), newCompleteCommand(a))
}

func newListCommand(a *connect.App) *cobra.Command {
	var f controldb.ExecutionFilter
	var lifecycles []string
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range lifecycles {
				l, err := jobs.ParseLifecycle(s)
				if err != nil {
					return exit.Usagef("--lifecycle: %w", err)
				}
				f.Lifecycles = append(f.Lifecycles, l)
			}
			if f.Limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", f.Limit)
			}
			f.RootsOnly = true
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Executions(cmd.Context(), f)
				if err != nil {
					return err
				}
				views := make([]output.Execution, 0, len(list))
				for _, e := range list {
					views = append(views, runs.View(e))
				}
				return a.Emit(views, func(w io.Writer) error {
					t := output.NewTable("EXECUTION ID", "JOB", "VERSION", "LIFECYCLE", "CREATED", "STARTED", "ENDED", "MESSAGE")
					for _, e := range views {
						t.Add(e.ID, e.JobName, e.JobVersion, e.Lifecycle, e.CreateTime, e.StartTime, e.EndTime,
							output.Shorten(e.LastMessage, 60))
					}
					return t.Write(w)
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.JobName, "job", "", "only runs of this job")
	cmd.Flags().BoolVar(&f.ActiveOnly, "active", false, "only runs that have not ended")
	cmd.Flags().StringSliceVar(&lifecycles, "lifecycle", nil, "only runs with these lifecycles, separated by commas")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "maximum number of runs")
	return cmd
}

// parseExecutionID parses an argument. It refuses the zero GUID, which stands for all runs in a
// [controldb.ExecutionFilter].
func parseExecutionID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return id, exit.Usagef("invalid execution ID %q: not a GUID; jobagent execution list shows the latest runs", s)
	}
	if id == uuid.Nil {
		return id, exit.Usagef("invalid execution ID %q: the zero GUID belongs to no run; jobagent execution list shows the latest runs", s)
	}
	return id, nil
}

func newShowCommand(a *connect.App) *cobra.Command {
	var withMessages bool
	cmd := &cobra.Command{
		Use: "show EXECUTION_ID", Short: "Show a run as a tree: its steps and their targets", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := runs.Read(cmd.Context(), store, id)
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
				parameters, err := store.ExecutionParameters(cmd.Context(), id)
				if err != nil {
					return err
				}
				var messages []controldb.ExecutionMessage
				if withMessages {
					if messages, err = store.ExecutionMessages(cmd.Context(), id); err != nil {
						return err
					}
				}
				views := make([]output.Execution, 0, len(rows))
				for _, e := range rows {
					views = append(views, runs.View(e))
				}
				out := output.Run{Executions: views, Parameters: json.RawMessage(parameters)}
				if withMessages {
					list := make([]output.Message, 0, len(messages))
					for _, m := range messages {
						list = append(list, output.Message{
							StepID:    m.StepID,
							Server:    m.Server,
							Database:  m.Database,
							Attempt:   m.Attempt,
							Ordinal:   m.Ordinal,
							Kind:      string(m.Message.Kind),
							Number:    m.Message.Number,
							Severity:  m.Message.Severity,
							State:     m.Message.State,
							Line:      m.Message.Line,
							Procedure: m.Message.Procedure,
							Text:      m.Message.Text,
							Rows:      m.Message.Rows,
						})
					}
					out.Messages = &list
				}
				if len(reruns) > 0 {
					out.Reruns = viewReruns(reruns)
				}
				return a.Emit(out, func(w io.Writer) error {
					if err := printReruns(w, id, reruns); err != nil {
						return err
					}
					if parameters != "" {
						fmt.Fprintf(w, "parameters %s\n", output.OneLine(parameters))
					}
					return runs.NewTree(&a.Printer).Print(w, rows, messages)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&withMessages, "messages", false,
		"show the messages of each attempt: PRINT, RAISERROR, row counts, errors")
	return cmd
}

func newWatchCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	cmd := &cobra.Command{
		Use: "watch EXECUTION_ID", Short: fmt.Sprintf("Wait for the end of a run; exit with %d if it does not succeed",
			exit.CodeRunFailed), Args: cobra.ExactArgs(1),
		Long: "Wait for the end of a run, which may have ended already. " + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				return runs.Watch(cmd.Context(), a, store, id, wait)
			})
		},
	}
	wait.AddFlags(cmd, false)
	return cmd
}

func newErrorsCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "errors EXECUTION_ID", Short: "List the errors of a run, grouped by message", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := runs.Read(cmd.Context(), store, id)
				if err != nil {
					return err
				}
				groups := runs.GroupErrors(rows)
				return a.Emit(groups, func(w io.Writer) error {
					t := output.NewTable("STEP", "COUNT", "LIFECYCLE", "TARGETS", "MESSAGE")
					for _, g := range groups {
						t.Add(g.StepID, g.Count, g.State, output.Shorten(strings.Join(g.Targets, ", "), 40),
							output.Shorten(g.Message, 300))
					}
					return t.Write(w)
				})
			})
		},
	}
}
