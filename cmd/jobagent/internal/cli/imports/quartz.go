package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/targets/mssql"
)

func newQuartzCommand(a *connect.App) *cobra.Command {
	var f outsideFlags
	var database, prefix, scheduler string
	cmd := &cobra.Command{
		Use: "quartz", Short: "Import jobs of Quartz from the tables QRTZ_…",
		Long: `Import jobs of Quartz.NET or Quartz from the tables of its job store in SQL Server. The command reads
QRTZ_JOB_DETAILS, QRTZ_TRIGGERS and the tables of trigger types on the server of --dsn, and writes
nothing there. Triggers become schedules; the class of a job becomes a step that you write.

` + stepsToWrite,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			tables, err := quartzTables(prefix)
			if err != nil {
				return err
			}
			dsn, err := agentServer(cmd.Context(), &a.Settings, database)
			if err != nil {
				return err
			}
			store, err := readQuartz(cmd.Context(), dsn, tables, scheduler)
			if err != nil {
				return err
			}
			r, err := importer.Quartz(store, o)
			if err != nil {
				return err
			}
			return printImport(&a.Printer, r, f.importFlags)
		},
	}
	f.addZone(cmd, "triggers without one")
	flags := cmd.Flags()
	flags.StringVar(&database, "database", "quartz", "database that holds Quartz' tables")
	flags.StringVar(&prefix, "prefix", "QRTZ_", "prefix of the tables' names, perhaps with a schema (quartz.QRTZ_)")
	flags.StringVar(&scheduler, "scheduler", "", "name of the scheduler (SCHED_NAME), if the tables hold several")
	return cmd
}

// quartzPrefix matches a prefix of tables, perhaps with a schema.
var quartzPrefix = regexp.MustCompile(`^(?:([\pL_][\pL\pN_@$#]{0,99})\.)?([\pL_][\pL\pN_@$#]{0,63})?$`)

// quartzTables returns the function that returns the quoted name of a table.
func quartzTables(prefix string) (func(table string) string, error) {
	m := quartzPrefix.FindStringSubmatch(prefix)
	if m == nil {
		return nil, exit.Usagef("invalid --prefix %q: want the beginning of names such as QRTZ_, perhaps with a schema", prefix)
	}
	schema := m[1]
	if schema == "" {
		schema = "dbo"
	}
	return func(table string) string { return "[" + schema + "].[" + m[2] + table + "]" }, nil
}

// readQuartz reads the tables of one scheduler.
func readQuartz(ctx context.Context, dsn mssql.DSN, name func(string) string, scheduler string) (importer.QuartzStore, error) {
	db := sql.OpenDB(dsn.Connector(nil))
	defer db.Close()
	where := fmt.Sprintf("database %s of %s", dsn.Params.Database, dsnServer(dsn.Params))
	if err := db.PingContext(ctx); err != nil {
		return importer.QuartzStore{}, exit.With(exit.CodeConnection, fmt.Errorf("connect to %s, database %s: %w", dsnServer(dsn.Params), dsn.Params.Database, err))
	}
	tables := map[string][]agentRow{}
	for _, t := range quartzNeeded {
		rows, err := readTable(ctx, db, name(t.name), t.needed)
		var refused mssqldb.Error
		switch missing := errors.As(err, &refused) && refused.Number == noSuchObject; {
		case missing && t.optional:
		case missing:
			return importer.QuartzStore{}, exit.With(exit.CodeNotFound, fmt.Errorf("%s has no tables of Quartz (%w); choose another database with --database, or another prefix with --prefix", where, err))
		case err != nil:
			return importer.QuartzStore{}, fmt.Errorf("read the tables of Quartz: %w", err)
		}
		tables[t.name] = rows
	}
	scheduler, err := quartzScheduler(tables, scheduler, where)
	if err != nil {
		return importer.QuartzStore{}, err
	}
	for t, rows := range tables {
		tables[t] = slices.DeleteFunc(rows, func(r agentRow) bool { return r.text("sched_name") != scheduler })
	}
	return quartzStore(tables), nil
}

// quartzNeeded are the tables that are read, with the columns that they must have.
var quartzNeeded = []struct {
	name     string
	optional bool
	needed   []string
}{
	{"JOB_DETAILS", false, []string{"SCHED_NAME", "JOB_NAME", "JOB_GROUP", "JOB_CLASS_NAME"}},
	{"TRIGGERS", false, []string{"SCHED_NAME", "TRIGGER_NAME", "TRIGGER_GROUP", "JOB_NAME", "JOB_GROUP", "TRIGGER_STATE", "TRIGGER_TYPE", "START_TIME"}},
	{"CRON_TRIGGERS", false, []string{"SCHED_NAME", "TRIGGER_NAME", "TRIGGER_GROUP", "CRON_EXPRESSION"}},
	{"SIMPLE_TRIGGERS", false, []string{"SCHED_NAME", "TRIGGER_NAME", "TRIGGER_GROUP", "REPEAT_COUNT", "REPEAT_INTERVAL"}},
	{"SIMPROP_TRIGGERS", true, []string{"SCHED_NAME", "TRIGGER_NAME", "TRIGGER_GROUP", "STR_PROP_1"}},
	{"CALENDARS", true, []string{"SCHED_NAME", "CALENDAR_NAME"}},
	{"PAUSED_TRIGGER_GRPS", true, []string{"SCHED_NAME", "TRIGGER_GROUP"}},
}

// quartzScheduler returns the scheduler to import: the given one, or the only one.
func quartzScheduler(tables map[string][]agentRow, scheduler, where string) (string, error) {
	var names []string
	for _, r := range tables["JOB_DETAILS"] {
		if n := r.text("sched_name"); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	switch {
	case scheduler != "" && !slices.Contains(names, scheduler):
		return "", exit.With(exit.CodeNotFound, fmt.Errorf("%s has no jobs of the scheduler %q", where, scheduler))
	case scheduler == "" && len(names) > 1:
		return "", exit.Usagef("%s has jobs of several schedulers: choose one with --scheduler: %s", where, strings.Join(names, ", "))
	case scheduler == "" && len(names) == 1:
		return names[0], nil
	}
	return scheduler, nil
}

// quartzStore joins the rows of the tables.
func quartzStore(tables map[string][]agentRow) (store importer.QuartzStore) {
	key := func(r agentRow, kind string) string { return r.text(kind+"_group") + "\x00" + r.text(kind+"_name") }
	details := map[string]agentRow{} // of triggers, by key and table
	for _, table := range []string{"CRON_TRIGGERS", "SIMPLE_TRIGGERS", "SIMPROP_TRIGGERS"} {
		for _, r := range tables[table] {
			details[table+"\x00"+key(r, "trigger")] = r
		}
	}
	triggers := map[string][]importer.QuartzTrigger{}
	for _, r := range tables["TRIGGERS"] {
		table := map[string]string{"CRON": "CRON_TRIGGERS", "SIMPLE": "SIMPLE_TRIGGERS"}[r.text("trigger_type")]
		if table == "" {
			table = "SIMPROP_TRIGGERS"
		}
		detail, found := details[table+"\x00"+key(r, "trigger")]
		t := quartzTrigger(r, detail)
		t.Missing = !found && t.Type != "BLOB"
		triggers[key(r, "job")] = append(triggers[key(r, "job")], t)
	}
	for _, r := range tables["JOB_DETAILS"] {
		j := importer.QuartzJob{
			Name: r.text("job_name"), Group: r.text("job_group"), Description: r.text("description"), Class: r.text("job_class_name"),
			NonConcurrent: boolean(r, "is_nonconcurrent"), UpdateData: boolean(r, "is_update_data"), Recovery: boolean(r, "requests_recovery"),
			Data: []byte(r.text("job_data")), Triggers: triggers[key(r, "job")],
		}
		slices.SortFunc(j.Triggers, func(x, y importer.QuartzTrigger) int {
			return strings.Compare(x.Group+"\x00"+x.Name, y.Group+"\x00"+y.Name)
		})
		store.Jobs = append(store.Jobs, j)
	}
	slices.SortFunc(store.Jobs, func(x, y importer.QuartzJob) int {
		return strings.Compare(x.Group+"\x00"+x.Name, y.Group+"\x00"+y.Name)
	})
	for _, r := range tables["CALENDARS"] {
		store.Calendars = append(store.Calendars, r.text("calendar_name"))
	}
	for _, r := range tables["PAUSED_TRIGGER_GRPS"] {
		store.PausedGroups = append(store.PausedGroups, r.text("trigger_group"))
	}
	slices.Sort(store.Calendars)
	slices.Sort(store.PausedGroups)
	return store
}

// quartzTrigger returns a trigger of a row of TRIGGERS and the row of its type's table.
func quartzTrigger(r, detail agentRow) importer.QuartzTrigger {
	number := func(row agentRow, column string) int64 { return int64(row.number(column, 0)) }
	return importer.QuartzTrigger{
		Name: r.text("trigger_name"), Group: r.text("trigger_group"), Description: r.text("description"), State: r.text("trigger_state"),
		Type: strings.ToUpper(r.text("trigger_type")), Calendar: r.text("calendar_name"),
		Start: number(r, "start_time"), End: number(r, "end_time"), Next: number(r, "next_fire_time"),
		Priority: r.number("priority", 0), Misfire: r.number("misfire_instr", 0),
		Placed: r.text("execution_group")+r.text("preferred_node") != "", Data: []byte(r.text("job_data")),
		Cron: detail.text("cron_expression"), Zone: detail.text("time_zone_id"),
		RepeatCount: number(detail, "repeat_count"), Interval: number(detail, "repeat_interval"), Triggered: number(detail, "times_triggered"),
		Text1: detail.text("str_prop_1"), Text2: detail.text("str_prop_2"), Text3: detail.text("str_prop_3"),
		Int1: number(detail, "int_prop_1"), Int2: number(detail, "int_prop_2"), Long1: number(detail, "long_prop_1"),
		Bool1: boolean(detail, "bool_prop_1"), Bool2: boolean(detail, "bool_prop_2"),
	}
}

// boolean returns a column of the type bit, or of Java's tables for SQL Server, where 1 and true
// are texts.
func boolean(r agentRow, column string) bool {
	text := strings.ToLower(r.text(column))
	return text == "1" || text == "true"
}
