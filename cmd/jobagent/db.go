package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	sqlfs "github.com/jobagent/jobagent/sql"
)

// newDBCommand makes `jobagent db`.
func newDBCommand(a *app) *cobra.Command {
	return newGroupCommand("db", "Install, verify and migrate the control database",
		newDBInstallCommand(a), newDBVerifyCommand(a), newDBMigrateCommand(a), newDBDescribeCommand(a))
}

func newDBInstallCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "install", Short: "Install the control schema in an existing database; safe to repeat", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer store.Close()
			if err := store.Install(cmd.Context()); err != nil {
				return err
			}
			return a.done(map[string]any{"schema_version": controldb.SchemaVersion()}, "the control schema (version %d) is installed", controldb.SchemaVersion())
		},
	}
}

func newDBMigrateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the control schema to this binary's version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer store.Close()
			if err := store.Migrate(cmd.Context()); err != nil {
				return err
			}
			return a.done(map[string]any{"schema_version": controldb.SchemaVersion()}, "the control schema is at version %d", controldb.SchemaVersion())
		},
	}
}

func newDBVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Compare the control schema with this binary; changes nothing", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.openStore(cmd.Context())
			if err != nil {
				return err
			}
			defer store.Close()
			if err := store.Verify(cmd.Context()); err != nil {
				return err
			}
			return a.done(map[string]any{"schema_version": controldb.SchemaVersion(), "differences": []string{}}, "the control schema is version %d, and as it should be", controldb.SchemaVersion())
		},
	}
}

func newDBDescribeCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "describe", Short: "Print the reference of procedures and views, made from the SQL files' comments", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			reference, err := sqlfs.Reference()
			if err != nil {
				return err
			}
			return a.emit(map[string]string{"markdown": reference}, func(w io.Writer) error {
				_, err := fmt.Fprint(w, reference)
				return err
			})
		},
	}
}
