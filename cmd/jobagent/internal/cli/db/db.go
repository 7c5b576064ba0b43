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
	"github.com/jobagent/jobagent/targets/mssql"
)

// NewCommand returns `jobagent db`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("db", "Install, verify and migrate the control database",
		newInstallCommand(a), newVerifyCommand(a), newMigrateCommand(a), newDescribeCommand(a), newGrantsCommand(a))
}

func newInstallCommand(a *connect.App) *cobra.Command {
	return newSchemaCommand(a, "install", "Install the control schema in an existing database; can be repeated",
		(*controldb.Store).Install, func(version int, warnings []output.Finding) error {
			v := output.Deployment{SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "installed the control schema, version %d", version)
		})
}

func newMigrateCommand(a *connect.App) *cobra.Command {
	return newSchemaCommand(a, "migrate", "Migrate the control schema to this program's version",
		(*controldb.Store).Migrate, func(version int, warnings []output.Finding) error {
			v := output.Deployment{SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "the control schema is at version %d", version)
		})
}

func newVerifyCommand(a *connect.App) *cobra.Command {
	return newSchemaCommand(a, "verify", "Compare the control schema with this program; changes nothing",
		(*controldb.Store).Verify, func(version int, warnings []output.Finding) error {
			v := output.Verification{Differences: []string{}, SchemaVersion: version, Warnings: warnings}
			return a.Done(v, "the control schema is version %d and has no differences", version)
		})
}

// newSchemaCommand returns a command that calls act on the control database. After a success it
// calls done with this program's schema version and the warnings about the database.
func newSchemaCommand(
	a *connect.App, use, short string, act func(*controldb.Store, context.Context) error,
	done func(version int, warnings []output.Finding) error,
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
			warnings, err := databaseWarnings(cmd.Context(), a, store)
			if err != nil {
				return err
			}
			if use == "install" && !a.Structured() {
				if err := noteOtherTables(cmd.Context(), a, store); err != nil {
					return err
				}
			}
			return done(controldb.SchemaVersion(), warnings)
		},
	}
}

// noteOtherTables says that the database has tables of somebody else. They do no harm, but steps,
// backups and rights are easier to keep apart in a database of its own.
func noteOtherTables(ctx context.Context, a *connect.App, store *controldb.Store) error {
	total, names, err := store.OtherTables(ctx)
	if err != nil || total == 0 {
		return err
	}
	more := ""
	if total > len(names) {
		more = ", …"
	}
	fmt.Fprintf(a.Stderr, "note: the database has other tables, too (%d: %s%s): a database of its own is better for the control schema\n",
		total, strings.Join(names, ", "), more)
	return nil
}

// databaseWarnings returns the findings about the database that are not OK. Without -o json, it
// also writes them to stderr.
func databaseWarnings(ctx context.Context, a *connect.App, store *controldb.Store) ([]output.Finding, error) {
	found, err := store.ExamineDatabase(ctx)
	if err != nil {
		return nil, err
	}
	warnings := []output.Finding{}
	for _, f := range found {
		if f.Severity == controldb.SeverityOK {
			continue
		}
		warnings = append(warnings, output.NewFinding(f))
		if !a.Structured() {
			fmt.Fprintf(a.Stderr, "%s: %s: %s; to fix it: %s\n", f.Severity, f.Found, f.Why, output.OneLine(f.Fix()))
		}
	}
	return warnings, nil
}

// newGrantsCommand returns `jobagent db grants`.
func newGrantsCommand(a *connect.App) *cobra.Command {
	r := controldb.GrantRequest{Ledger: mssql.LedgerTable()}
	cmd := &cobra.Command{
		Use: "grants", Short: "Print T-SQL that gives a login the rights of a role", Args: cobra.NoArgs,
		Long: `Print T-SQL that gives a login the rights of a role, with a reason for each statement. Nothing is
sent to a server.

The roles jobs_agent (the login of an agent), jobs_front (the login of a REST front), jobs_admin,
jobs_author, jobs_operator and jobs_reader are roles of the control database. The role target is for a login with which steps run; such a login
must have no rights on the control database.`,
		RunE: func(*cobra.Command, []string) error {
			sections, err := controldb.Grants(r)
			if err != nil {
				return exit.Usagef("%w", err)
			}
			views := make([]output.GrantSection, 0, len(sections))
			for _, s := range sections {
				views = append(views, output.GrantSection(s))
			}
			return a.Emit(views, func(w io.Writer) error {
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
	cmd.Flags().StringVar(&r.Role, "role", "", "`ROLE`: "+strings.Join(controldb.GrantRoles, ", ")+" (required)")
	cmd.Flags().StringVar(&r.Platform, "platform", controldb.PlatformSQLServer,
		"`PLATFORM`: "+strings.Join(controldb.Platforms, ", "))
	cmd.Flags().BoolVar(&r.Entra, "entra", false, "create a login of Microsoft Entra ID, without a password")
	return cmd
}
