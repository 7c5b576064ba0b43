// Package db has the commands that install and verify the control database.
package db

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent db`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("db", "Install, verify, migrate and uninstall the control schema, and pause the control database",
		a.Prints(output.Deployment{}, newInstallCommand(a)),
		a.Prints(output.Verification{}, newVerifyCommand(a)),
		a.PrintsWith("--plan", output.MigrationPlan{}, a.Prints(output.Deployment{}, newMigrateCommand(a))),
		a.Prints(output.Uninstallation{}, newUninstallCommand(a)),
		a.Prints(output.Reference{}, newDescribeCommand(&a.Printer)),
		a.Prints([]deploy.GrantSection{}, newGrantsCommand(&a.Printer)),
		command.StandsFor("jobs.sp_pause_control_database", a.Prints(output.Pause{}, newPauseCommand(a))),
		command.StandsFor("jobs.sp_resume_control_database", a.Prints(output.Pause{}, newResumeCommand(a))),
		command.StandsFor("jobs.sp_after_restore", a.Prints(identity.Restored{}, newAfterRestoreCommand(a))),
	)
}

func newInstallCommand(a *connect.App) *cobra.Command {
	return newSchemaCommand(a, "install", "Install the control schema in an existing database; can be repeated",
		func(s *controldb.Store, ctx context.Context) error { return deploy.On(s).Install(ctx) }, func(version int, warnings []doctor.Finding) error {
			v := output.Deployment{SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "installed the control schema, version %d", version)
		})
}

func newMigrateCommand(a *connect.App) *cobra.Command {
	options := deploy.MigrateOptions{Tell: func(line string) {
		if !a.Structured() {
			fmt.Fprintln(a.Stderr, line)
		}
	}}
	cmd := newSchemaCommand(a, "migrate", "Migrate the control schema to this program's version",
		func(s *controldb.Store, ctx context.Context) error { return deploy.On(s).MigrateWith(ctx, options) }, func(version int, warnings []doctor.Finding) error {
			v := output.Deployment{SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "the control schema is at version %d", version)
		})
	cmd.Long = `Migrate the control schema to this program's version.

Agents may go on: they keep their leases and repeat calls that meet a change. Each step takes effect
by itself. A step that does not get its locks lets the others pass and tries again, for about three
minutes. After an error, call the command again: it goes on with the step that has not ended.

--plan shows the steps, the rows of their tables and their locks, and changes nothing.

The command of an earlier release does not replace the procedures of a later one. --allow-older lets
it, for example to leave a release that has a fault. The tables must have this program's version.`
	plan := cmd.Flags().Bool("plan", false, "show what would be done, and change nothing")
	cmd.Flags().BoolVar(&options.AllowOlder, "allow-older", false, "replace the procedures of a later release by those of this one")
	migrate := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !*plan {
			return migrate(cmd, args)
		}
		store, err := a.OpenStore(cmd.Context())
		if err != nil {
			return err
		}
		defer store.Close()
		p, err := deploy.On(store).Plan(cmd.Context(), options)
		if err != nil {
			return err
		}
		return a.Emit(output.MigrationPlan{Plan: p}, func(w io.Writer) error { return writePlan(w, p) })
	}
	return cmd
}

// writePlan writes a plan for people.
func writePlan(w io.Writer, p deploy.Plan) error {
	var b strings.Builder
	online := "indexes are built offline: writers wait for them"
	if p.Online {
		online = "indexes are built online"
	}
	fmt.Fprintf(&b, "The control schema has version %d, and this program has %d. %s: %s.\n", p.Version, p.Want, p.Edition, online)
	last := ""
	for _, s := range p.Steps {
		if s.Migration != last {
			fmt.Fprintf(&b, "\n%s\n", s.Migration)
			last = s.Migration
		}
		fmt.Fprintf(&b, "  step %d of %d", s.Step, s.Of)
		if s.Table != "" {
			fmt.Fprintf(&b, ": %s, %s, %d MB", s.Table, wording.Count(s.Rows, "row"), s.MB)
		}
		b.WriteString("\n")
		for _, st := range s.Statements {
			fmt.Fprintf(&b, "    %s: %s\n", st.Kind, st.Text)
			fmt.Fprintf(&b, "      lock: %s\n", st.Lock)
			if st.Size != "" {
				fmt.Fprintf(&b, "      size: %s\n", st.Size)
			}
		}
	}
	if len(p.Steps) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%d procedures, views, triggers and roles to create, replace or drop, in one round trip; their calls wait meanwhile.\n", p.Code)
	for _, x := range p.Agents {
		fmt.Fprintf(&b, "agent on %s: version %s, protocol %d, %d tasks\n", x.Host, x.Version, x.Protocol, x.Tasks)
	}
	for _, x := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", x)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// newUninstallCommand returns `jobagent db uninstall`.
func newUninstallCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Drop the control schema, with all jobs and their history", Args: cobra.NoArgs,
		Long: `Drop everything that jobagent has created in the database: tables with all jobs, runs and
history, procedures, views, roles, users without a login, and schemas. Nothing else is dropped:
objects of others in the schemas, users and the database itself stay.

It is refused while a run is active or an agent is at work. Without a terminal it needs --yes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.OpenStoreToChange(cmd.Context())
			if err != nil {
				return err
			}
			defer store.Close()
			err = command.Confirm(cmd, func() (string, int, error) {
				u, err := deploy.On(store).PlanUninstall(cmd.Context())
				if err != nil {
					return "", 0, err
				}
				for _, o := range u.Objects {
					fmt.Fprintln(a.Stderr, o)
				}
				return fmt.Sprintf("This drops these %d objects with all jobs and the history of %s", len(u.Objects), wording.Count(u.Runs, "run")), len(u.Objects), nil
			})
			if err != nil {
				return err
			}
			u, err := deploy.On(store).Uninstall(cmd.Context())
			if err != nil {
				return err
			}
			if !a.Structured() {
				for _, m := range u.Members {
					fmt.Fprintf(a.Stderr, "note: the user %s has lost this role\n", m)
				}
				for _, k := range u.Kept {
					fmt.Fprintf(a.Stderr, "note: %s stays, and so does its schema: it is not of jobagent\n", k)
				}
			}
			v := output.Uninstallation{
				Objects: append([]string{}, u.Objects...), Members: append([]string{}, u.Members...), Kept: append([]string{}, u.Kept...), Runs: u.Runs,
			}
			return a.Done(v, "dropped the control schema: %d objects", len(u.Objects))
		},
	}
	command.AddYes(cmd)
	return cmd
}

func newVerifyCommand(a *connect.App) *cobra.Command {
	return newSchemaCommand(a, "verify", "Compare the control schema with this program; changes nothing",
		func(s *controldb.Store, ctx context.Context) error { return installed.On(s).Verify(ctx) }, func(version int, warnings []doctor.Finding) error {
			v := output.Verification{Differences: []string{}, SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "the control schema is version %d and has no differences", version)
		})
}

// newSchemaCommand returns a command that calls act on the control database. After a success it
// calls done with this program's schema version and the warnings about the database.
func newSchemaCommand(
	a *connect.App, use, short string, act func(*controldb.Store, context.Context) error,
	done func(version int, warnings []doctor.Finding) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			open := a.OpenStoreToChange
			if use == "verify" {
				open = a.OpenStore
			}
			store, err := open(cmd.Context())
			if err != nil {
				return err
			}
			defer store.Close()
			if err := act(store, cmd.Context()); err != nil {
				return err
			}
			warnings, err := databaseWarnings(cmd.Context(), &a.Printer, store)
			if err != nil {
				return err
			}
			if use == "install" && !a.Structured() {
				if err := noteOtherTables(cmd.Context(), &a.Printer, store); err != nil {
					return err
				}
			}
			return done(installed.SchemaVersion(), warnings)
		},
	}
}

// noteOtherTables says that the database has tables of somebody else. They do no harm, but steps,
// backups and rights are easier to keep apart in a database of its own.
func noteOtherTables(ctx context.Context, p *output.Printer, store *controldb.Store) error {
	total, names, err := deploy.On(store).OtherTables(ctx)
	if err != nil || total == 0 {
		return err
	}
	more := ""
	if total > len(names) {
		more = ", …"
	}
	fmt.Fprintf(p.Stderr, "note: the database has other tables, too (%d: %s%s): a database of its own is better for the control schema\n",
		total, strings.Join(names, ", "), more)
	return nil
}

// databaseWarnings returns the findings about the database that are not OK. Without -o json, it
// also writes them to stderr.
func databaseWarnings(ctx context.Context, p *output.Printer, store *controldb.Store) ([]doctor.Finding, error) {
	found, err := doctor.On(store).ExamineDatabase(ctx)
	if err != nil {
		return nil, err
	}
	warnings := []doctor.Finding{}
	for _, f := range found {
		if f.Severity == doctor.SeverityOK {
			continue
		}
		warnings = append(warnings, f)
		if !p.Structured() {
			fmt.Fprintf(p.Stderr, "%s: %s: %s; to fix it: %s\n", f.Severity, f.Found, f.Why, output.OneLine(f.Fix()))
		}
	}
	return warnings, nil
}

// newGrantsCommand returns `jobagent db grants`.
func newGrantsCommand(p *output.Printer) *cobra.Command {
	r := deploy.GrantRequest{Ledger: mssql.LedgerTable()}
	cmd := &cobra.Command{
		Use: "grants", Short: "Print T-SQL that gives a login the rights of a role", Args: cobra.NoArgs,
		Long: `Print T-SQL that gives a login the rights of a role, with a reason for each statement. Nothing is
sent to a server.

The roles jobs_agent (the login of an agent), jobs_front (the login of a REST front), jobs_admin,
jobs_author, jobs_operator and jobs_reader are roles of the control database. The role target is for a login with which steps run; such a login
must have no rights on the control database.`,
		RunE: func(*cobra.Command, []string) error {
			sections, err := deploy.Grants(r)
			if err != nil {
				return exit.Usagef("%w", err)
			}
			return p.Emit(sections, func(w io.Writer) error {
				for i, s := range sections {
					if _, err := fmt.Fprintf(w, "-- %d. Run this %s.\n%s\n", i+1, s.Where, s.SQL); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&r.Login, "login", "", "`NAME` of the login (required)")
	cmd.Flags().StringVar(&r.Role, "role", "", "`ROLE`: "+strings.Join(deploy.GrantRoles, ", ")+" (required)")
	cmd.Flags().StringVar(&r.Platform, "platform", deploy.PlatformSQLServer,
		"`PLATFORM`: "+strings.Join(deploy.Platforms, ", "))
	cmd.Flags().BoolVar(&r.Entra, "entra", false, "create a login of Microsoft Entra ID, without a password")
	return cmd
}
