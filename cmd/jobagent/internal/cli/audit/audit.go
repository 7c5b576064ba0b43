// Package audit has the command that shows the audit log.
package audit

import (
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/auditlog"
)

// NewCommand returns `jobagent audit`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("audit", "Show who changed what",
		command.StandsFor("jobs.audit_log", newListCommand(a)),
	)
}

func newListCommand(a *connect.App) *cobra.Command {
	var f auditlog.Filter
	var since, until, job, correlation string
	cmd := &cobra.Command{
		Use: "list", Short: "List the entries of the audit log, latest first", Args: cobra.NoArgs,
		Long: `List the entries of the audit log, latest first.

Each call that changed something has an entry, whether it came by T-SQL, CLI, REST or the
dashboard (Web). Calls that were refused or changed nothing have none. Commands of steps and parameters of runs are shown as
hashes. The setting audit_retention_days says how long entries are kept.`,
		Example: "  jobagent audit list --job nightly --since 2026-11-01\n  jobagent audit list --who ada@example.com -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := command.ParseSince(since)
			if err != nil {
				return err
			}
			if until != "" {
				if f.Until, err = command.ParseTime(until); err != nil {
					return exit.Usagef("--until: %w", err)
				}
			}
			if correlation != "" {
				if f.Correlation, err = uuid.Parse(correlation); err != nil {
					return exit.Usagef("invalid --correlation-id %q: want a GUID", correlation)
				}
			}
			if f.Limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", f.Limit)
			}
			if id, err := uuid.Parse(job); err == nil {
				f.JobID = id
			} else {
				f.JobName = job
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if f.Since, err = from.Time(cmd.Context(), store.Now); err != nil {
					return err
				}
				return list(cmd, &a.Printer, store, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "only changes since then: "+command.SinceForms)
	flags.StringVar(&until, "until", "", "only changes before this time")
	flags.StringVar(&f.Caller, "who", "", "only changes by this person, program or login")
	flags.StringVar(&job, "job", "", "only changes of this job: the `NAME` that it had then, or its ID")
	flags.StringVar(&f.Action, "action", "", "only calls of this procedure, such as sp_update_job")
	flags.StringVar(&correlation, "correlation-id", "", "only changes by the request with this `GUID`")
	flags.IntVar(&f.Limit, "limit", 50, "maximum number of entries")
	return command.List(&a.Printer, columns, cmd)
}

// columns are those of audit list.
var columns = output.Columns([]output.Column[output.AuditEntry]{
	{Name: "entry_id", Header: "ENTRY", ID: true, Wide: true},
	{Name: "time", Keep: true},
	{Name: "door", Header: "BY", Drop: 8},
	{Name: "caller", Header: "WHO", Min: 10, Keep: true},
	{Name: "action", Min: 12, Keep: true},
	{Name: "job_name", Header: "JOB", Min: 10, Drop: 7},
	{Name: "object_name", Header: "OBJECT", Min: 10, Drop: 6, Text: func(e output.AuditEntry) string {
		return strings.TrimSpace(e.ObjectKind + " " + e.ObjectName)
	}},
	{Name: "host", Wide: true},
	{Name: "program", Wide: true},
	{Name: "before_change", Header: "BEFORE", Wide: true},
	{Name: "after_change", Header: "CHANGE", Min: 16, Rest: true, Drop: 9},
})

// list prints the entries that f selects.
func list(cmd *cobra.Command, p *output.Printer, store *controldb.Store, f auditlog.Filter) error {
	entries, err := auditlog.On(store).Read(cmd.Context(), f)
	if err != nil {
		return err
	}
	return output.List(p, output.Each(entries, view), columns)
}

// view converts an entry for -o json.
func view(e auditlog.Entry) output.AuditEntry {
	if id, err := uuid.Parse(e.ObjectID); err == nil {
		e.ObjectID = id.String() // in the spelling of all other IDs
	}
	return output.AuditEntry{Entry: e}
}
