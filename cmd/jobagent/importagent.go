package main

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/targets"
)

// agentTablesSQL reads jobs, steps and schedules of SQL Server Agent.
//
//go:embed importagent.sql
var agentTablesSQL string

// agentAlertsSQL reads the alerts that start jobs.
//
//go:embed importagentalerts.sql
var agentAlertsSQL string

func newImportSQLAgentCommand(a *app) *cobra.Command {
	var f importFlags
	var database, zone, server string
	var names []string
	cmd := &cobra.Command{
		Use: "sql-agent", Short: "Import jobs of SQL Server Agent from msdb",
		Long: `Import jobs of SQL Server Agent: reads sysjobs, sysjobsteps, sysschedules and what belongs to them on the server of --dsn, and
writes nothing there. Clock times of SQL Server Agent are those of its server: say its zone with --time-zone, as an IANA name
or by its name of Windows (SELECT CURRENT_TIMEZONE_ID() from SQL Server 2022 on).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := importer.Options{Now: time.Now().UTC(), TargetGroup: f.group, Server: server}
			if zone != "" {
				var err error
				if o.Zone, err = importer.Zone(zone); err != nil {
					return usagef("--time-zone: %w", err)
				}
			}
			params, err := a.agentServer(database)
			if err != nil {
				return err
			}
			if o.Server == "" {
				o.Server = dsnServer(params)
			}
			jobs, err := readAgentJobs(cmd.Context(), params, names)
			if err != nil {
				return err
			}
			return a.imported(importer.SQLAgent(jobs, o), f)
		},
	}
	f.add(cmd, "one for each database")
	flags := cmd.Flags()
	flags.StringVar(&database, "database", "msdb", "database that holds SQL Server Agent's tables")
	flags.StringVar(&zone, "time-zone", "", "zone of the server's clock (default UTC, with a warning)")
	flags.StringVar(&server, "server", "", "name by which agents reach the server (default: as in the connection string)")
	flags.StringArrayVar(&names, "job", nil, "import only this job; may be repeated")
	return cmd
}

// agentServer is the server of the connection string, with another database.
func (a *app) agentServer(database string) (msdsn.Config, error) {
	dsn, err := a.controlDSN()
	if err != nil {
		return msdsn.Config{}, err
	}
	params, err := msdsn.Parse(dsn)
	if err != nil { // the error may repeat parts of the string
		return msdsn.Config{}, usagef("the connection string cannot be read; its form is sqlserver://user:password@host:port")
	}
	params.Database = database
	return params, nil
}

// dsnServer is a server as target groups name it.
func dsnServer(p msdsn.Config) string {
	switch {
	case p.Instance != "":
		return p.Host + `\` + p.Instance
	case p.Port != 0 && p.Port != 1433:
		return fmt.Sprintf("%s,%d", p.Host, p.Port)
	}
	return p.Host
}

// readAgentJobs reads all jobs, or those of the names.
func readAgentJobs(ctx context.Context, params msdsn.Config, names []string) ([]importer.AgentJob, error) {
	db := sql.OpenDB(targets.WrapConnector(mssql.NewConnectorConfig(params), nil))
	defer db.Close()
	t := agentTables{jobs: map[string]*importer.AgentJob{}}
	if err := db.PingContext(ctx); err != nil {
		return nil, &exitError{exitConnection, fmt.Errorf("connect to %s, database %s: %w", dsnServer(params), params.Database, err)}
	}
	if err := t.read(ctx, db); err != nil {
		var refused mssql.Error
		if errors.As(err, &refused) && refused.Number == 208 {
			return nil, &exitError{exitNotFound, fmt.Errorf("the database %s of %s holds no SQL Server Agent (%w); --database names another", params.Database, dsnServer(params), err)}
		}
		return nil, fmt.Errorf("read the jobs of SQL Server Agent: %w", err)
	}
	var list []importer.AgentJob
	for _, id := range t.order {
		j := *t.jobs[id]
		if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, j.Name) }) {
			list = append(list, j)
		}
	}
	for _, n := range names {
		if !slices.ContainsFunc(list, func(j importer.AgentJob) bool { return strings.EqualFold(n, j.Name) }) {
			return nil, &exitError{exitNotFound, fmt.Errorf("SQL Server Agent on %s has no job %q", dsnServer(params), n)}
		}
	}
	return list, nil
}

// agentTables collects jobs by their id.
type agentTables struct {
	jobs  map[string]*importer.AgentJob
	order []string
}

func (t *agentTables) read(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, agentTablesSQL)
	if err != nil {
		return err
	}
	defer rows.Close()
	for i, set := range []func(*sql.Rows) error{t.job, t.step, t.schedule} {
		if i > 0 && !rows.NextResultSet() {
			return errors.Join(rows.Err(), errors.New("a result set is missing"))
		}
		for rows.Next() {
			if err := set(rows); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return t.readAlerts(ctx, db)
}

// readAlerts passes over a table that is not there: only the tables of jobs are needed.
func (t *agentTables) readAlerts(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, agentAlertsSQL)
	var refused mssql.Error
	if errors.As(err, &refused) && refused.Number == 208 {
		return nil
	} else if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, name string
		if err := rows.Scan(&id, &name); err != nil {
			return err
		}
		if j := t.jobs[id]; j != nil {
			j.Alerts = append(j.Alerts, name)
		}
	}
	return rows.Err()
}

func (t *agentTables) job(rows *sql.Rows) error {
	var id string
	var enabled, origin int
	var j importer.AgentJob
	err := rows.Scan(&id, &j.Name, &enabled, &j.Description, &j.StartStepID, &j.Category, &j.NotifyEmail, &j.NotifyNetSend, &j.NotifyPage, &j.DeleteLevel, &origin)
	j.Enabled, j.Foreign = enabled != 0, origin != 0
	t.jobs[id] = &j
	t.order = append(t.order, id)
	return err
}

func (t *agentTables) step(rows *sql.Rows) error {
	var id string
	var s importer.AgentStep
	err := rows.Scan(&id, &s.ID, &s.Name, &s.Subsystem, &s.Command, &s.OnSuccess, &s.OnSuccessStep, &s.OnFail, &s.OnFailStep, &s.Database,
		&s.DatabaseUser, &s.RetryAttempts, &s.RetryInterval, &s.OutputFile, &s.Flags, &s.ProxyID)
	if j := t.jobs[id]; j != nil {
		j.Steps = append(j.Steps, s)
	}
	return err
}

func (t *agentTables) schedule(rows *sql.Rows) error {
	var id string
	var enabled int
	var s importer.AgentSchedule
	err := rows.Scan(&id, &s.Name, &enabled, &s.FreqType, &s.FreqInterval, &s.FreqSubdayType, &s.FreqSubdayInterval, &s.FreqRelativeInterval,
		&s.FreqRecurrenceFactor, &s.ActiveStartDate, &s.ActiveEndDate, &s.ActiveStartTime, &s.ActiveEndTime)
	s.Enabled = enabled != 0
	if j := t.jobs[id]; j != nil {
		j.Schedules = append(j.Schedules, s)
	}
	return err
}
