package imports

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/targets/mssql"
)

func newSQLAgentCommand(a *connect.App) *cobra.Command {
	var f importFlags
	var database, zone, server, admin string
	var names []string
	cmd := &cobra.Command{
		Use: "sql-agent [FILE|-]...", Short: "Import jobs of SQL Server Agent from msdb, or from scripts of SSMS",
		Long: `Import jobs of SQL Server Agent. Without a file, the command reads sysjobs, sysjobsteps, sysschedules
and related tables on the server of --dsn, and writes nothing there. A file is T-SQL that creates jobs,
as SSMS writes it (Script Job as, CREATE To): calls of msdb.dbo.sp_add_job, sp_add_jobstep and others
with constants and variables.

SQL Server Agent uses the server's local time: give the server's time zone with --zone, as an IANA name
or a Windows name (SELECT CURRENT_TIMEZONE_ID() from SQL Server 2022 on).

What follows the success or failure of a step becomes --after and --run-when. A step of another subsystem
than T-SQL is an entry of "processes" in the agents' configuration, and its command a comment, unless it
may hold a password: then --keep-commands writes it. Notifications of operators become alert rules, which
need a channel. The schedules of a job are created disabled while a step of it is left to write, runs in a
system database, or would run otherwise than there.`,
		Example: "  jobagent import sql-agent --zone 'W. Europe Standard Time' --strict > agent.sql\n  jobagent import sql-agent jobs.sql --server sql1 --admin-database DBA --dir imported",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o := importer.Options{Now: time.Now().UTC(), TargetGroup: f.group, Server: server, AdminDatabase: admin, KeepCommands: f.keepCommands}
			if zone != "" {
				var err error
				if o.Zone, err = importer.Zone(zone); err != nil {
					return exit.Usagef("--zone: %w", err)
				}
			}
			if len(args) > 0 {
				r, err := readAgentScripts(&a.Settings, args, names, o)
				if err != nil {
					return err
				}
				return printImport(&a.Printer, r, f)
			}
			dsn, err := agentServer(cmd.Context(), &a.Settings, database)
			if err != nil {
				return err
			}
			if o.Server == "" {
				o.Server = dsnServer(dsn.Params)
			}
			jobs, err := readAgentJobs(cmd.Context(), dsn, names)
			if err != nil {
				return err
			}
			return printImport(&a.Printer, importer.SQLAgent(jobs, o), f)
		},
	}
	f.add(cmd, "one for each database")
	f.addKeep(cmd)
	flags := cmd.Flags()
	flags.StringVar(&database, "database", "msdb", "database that holds SQL Server Agent's tables")
	flags.StringVar(&zone, "zone", "", "time zone of the server's clock (default UTC, with a warning)")
	flags.StringVar(&server, "server", "", "server's name for agents (default: as in the connection string; needed with a file, unless there is --target-group)")
	flags.StringVar(&admin, "admin-database", "", "database for steps that ran in master, msdb, model or tempdb")
	flags.StringArrayVar(&names, "job", nil, "import only this `job`; may be repeated")
	return cmd
}

// readAgentScripts converts files of T-SQL that create jobs.
func readAgentScripts(s *connect.Settings, files, names []string, o importer.Options) (*importer.Result, error) {
	if o.Server == "" && o.TargetGroup == "" {
		return nil, exit.Usagef("a script does not say on which server its jobs run: give --server with its name for agents, or --target-group")
	}
	var documents []importer.Document
	for _, name := range files {
		text, err := command.ReadFile(name, s.Stdin)
		if err != nil {
			return nil, err
		}
		documents = append(documents, importer.Document{Name: name, Text: text})
	}
	r, err := importer.SQLAgentScripts(documents, names, o)
	var missing *importer.MissingJobError
	if errors.As(err, &missing) {
		return nil, exit.With(exit.CodeNotFound, err)
	}
	if err != nil {
		return nil, exit.Usage(err)
	}
	return r, nil
}

// agentServer returns the control database's connection string with another database.
func agentServer(ctx context.Context, s *connect.Settings, database string) (mssql.DSN, error) {
	text, err := s.ControlDSN(ctx)
	if err != nil {
		return mssql.DSN{}, err
	}
	dsn, err := s.ParseDSN(text)
	dsn.Params.Database = database
	return dsn, err
}

// dsnServer returns the server's name in the form that target groups have.
func dsnServer(p msdsn.Config) string {
	switch {
	case p.Instance != "":
		return p.Host + `\` + p.Instance
	case p.Port != 0 && p.Port != 1433:
		return fmt.Sprintf("%s,%d", p.Host, p.Port)
	}
	return p.Host
}

// readAgentJobs reads the named jobs, or all jobs if there are no names.
func readAgentJobs(ctx context.Context, dsn mssql.DSN, names []string) ([]importer.AgentJob, error) {
	params := dsn.Params
	db := sql.OpenDB(dsn.Connector(nil))
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return nil, exit.With(exit.CodeConnection, fmt.Errorf("connect to %s, database %s: %w", dsnServer(params),
			params.Database, err))
	}
	all, err := agentJobs(ctx, db)
	if err != nil {
		var refused mssqldb.Error
		if errors.As(err, &refused) && refused.Number == noSuchObject {
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("database %s of %s has no tables of SQL Server Agent (%w); choose another database with --database", params.Database, dsnServer(params), err))
		}
		return nil, fmt.Errorf("read the jobs of SQL Server Agent: %w", err)
	}
	list := slices.DeleteFunc(slices.Clone(all), func(j importer.AgentJob) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, j.Name) })
	})
	for _, n := range names {
		if !slices.ContainsFunc(list, func(j importer.AgentJob) bool { return strings.EqualFold(n, j.Name) }) {
			return nil, exit.With(exit.CodeNotFound, fmt.Errorf("SQL Server Agent on %s has no job %q", dsnServer(params), n))
		}
	}
	return list, nil
}

// noSuchObject is SQL Server's error number for a table that does not exist.
const noSuchObject = 208

// agentJobs reads the tables of SQL Server Agent and joins their rows
// (https://learn.microsoft.com/sql/relational-databases/system-tables/sql-server-agent-tables-transact-sql).
func agentJobs(ctx context.Context, db *sql.DB) ([]importer.AgentJob, error) {
	tables := map[string][]agentRow{}
	index := map[string]map[string][]agentRow{} // by table and by the first needed column
	for _, t := range []struct {
		name     string
		optional bool
		needed   []string
	}{
		{"sysjobs", false, []string{"job_id", "name"}},
		{"sysjobsteps", false, []string{"job_id", "step_id", "subsystem", "command"}},
		{"sysschedules", false, []string{"schedule_id", "name", "freq_type", "active_start_date"}},
		{"sysjobschedules", false, []string{"job_id", "schedule_id"}},
		{"syscategories", true, []string{"category_id", "name"}},
		{"sysalerts", true, []string{"job_id", "name"}},
		{"sysoperators", true, []string{"id", "name"}},
		{"sysproxies", true, []string{"proxy_id", "name"}},
	} {
		rows, err := readTable(ctx, db, "dbo."+t.name, t.needed)
		var refused mssqldb.Error
		if t.optional && errors.As(err, &refused) && refused.Number == noSuchObject {
			continue
		} else if err != nil {
			return nil, err
		}
		tables[t.name], index[t.name] = rows, map[string][]agentRow{}
		for _, r := range rows {
			key := r.text(t.needed[0])
			index[t.name][key] = append(index[t.name][key], r)
		}
	}
	var list []importer.AgentJob
	for _, r := range tables["sysjobs"] {
		id := r.text("job_id")
		j := importer.AgentJob{
			Name: r.text("name"), Enabled: r.number("enabled", 1) != 0, Description: r.text("description"),
			StartStepID: r.number("start_step_id", 1),
			NotifyEmail: r.number("notify_level_email", 0), NotifyNetSend: r.number("notify_level_netsend", 0),
			NotifyPage:  r.number("notify_level_page", 0),
			DeleteLevel: r.number("delete_level", 0), Foreign: r.number("originating_server_id", 0) != 0,
		}
		for _, c := range index["syscategories"][r.text("category_id")] {
			j.Category = c.text("name")
		}
		operator := func(column, address string) (o importer.AgentOperator) {
			for _, row := range index["sysoperators"][r.text(column)] {
				o = importer.AgentOperator{Name: row.text("name"), Address: row.text(address)}
			}
			return o
		}
		j.EmailOperator, j.NetSendOperator = operator("notify_email_operator_id", "email_address"), operator("notify_netsend_operator_id", "netsend_address")
		j.PageOperator = operator("notify_page_operator_id", "pager_address")
		for _, a := range index["sysalerts"][id] {
			j.Alerts = append(j.Alerts, a.text("name"))
		}
		for _, s := range index["sysjobsteps"][id] {
			step := s.step()
			for _, proxy := range index["sysproxies"][s.text("proxy_id")] {
				step.Proxy = proxy.text("name")
			}
			j.Steps = append(j.Steps, step)
		}
		for _, link := range index["sysjobschedules"][id] {
			for _, s := range index["sysschedules"][link.text("schedule_id")] {
				j.Schedules = append(j.Schedules, s.schedule())
			}
		}
		slices.SortStableFunc(j.Schedules, func(x, y importer.AgentSchedule) int { return strings.Compare(x.Name, y.Name) })
		list = append(list, j)
	}
	slices.SortStableFunc(list, func(x, y importer.AgentJob) int { return strings.Compare(x.Name, y.Name) })
	return list, nil
}

// agentRow is a row of one of the tables, by column name. The columns differ between versions of
// SQL Server.
type agentRow map[string]any

// readTable reads a whole table. It fails if a needed column is missing.
func readTable(ctx context.Context, db *sql.DB, table string, needed []string) ([]agentRow, error) {
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+";")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for _, n := range needed {
		if !slices.ContainsFunc(columns, func(c string) bool { return strings.EqualFold(c, n) }) {
			return nil, fmt.Errorf("the table %s has no column %s", table, n)
		}
	}
	var list []agentRow
	for rows.Next() {
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		row := agentRow{}
		for i, c := range columns {
			row[strings.ToLower(c)] = values[i]
		}
		list = append(list, row)
	}
	return list, rows.Err()
}

// text returns a column as text. An ID, which is bytes, only has to be distinct.
func (r agentRow) text(column string) string {
	switch v := r[column].(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// number returns a column as a number, or absent if the column is NULL or missing.
func (r agentRow) number(column string, absent int) int {
	switch v := r[column].(type) {
	case int64:
		return int(v)
	case bool:
		if v {
			return 1
		}
		return 0
	}
	return absent
}

func (r agentRow) step() importer.AgentStep {
	return importer.AgentStep{
		ID: r.number("step_id", 0), Name: r.text("step_name"), Subsystem: r.text("subsystem"), Command: r.text("command"),
		OnSuccess: r.number("on_success_action", 3), OnSuccessStep: r.number("on_success_step_id", 0), // 3: go to the next step
		OnFail: r.number("on_fail_action", 2), OnFailStep: r.number("on_fail_step_id", 0), // 2: quit with failure
		Database: r.text("database_name"), DatabaseUser: r.text("database_user_name"),
		RetryAttempts: r.number("retry_attempts", 0),
		RetryInterval: r.number("retry_interval", 0), OutputFile: r.text("output_file_name"), Flags: r.number("flags", 0),
		ProxyID: r.number("proxy_id", 0),
	}
}

func (r agentRow) schedule() importer.AgentSchedule {
	return importer.AgentSchedule{
		Name: r.text("name"), Enabled: r.number("enabled", 1) != 0, FreqType: r.number("freq_type", 0),
		FreqInterval:   r.number("freq_interval", 0),
		FreqSubdayType: r.number("freq_subday_type", 0), FreqSubdayInterval: r.number("freq_subday_interval", 0),
		FreqRelativeInterval: r.number("freq_relative_interval", 0),
		FreqRecurrenceFactor: r.number("freq_recurrence_factor", 0),
		ActiveStartDate:      r.number("active_start_date", 0), ActiveEndDate: r.number("active_end_date", 0),
		ActiveStartTime: r.number("active_start_time", 0), ActiveEndTime: r.number("active_end_time", 235959),
	}
}
