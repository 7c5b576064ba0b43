// Package account has the commands for job agents (accounts).
package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/accounts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent account`.
func NewCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("account", "Manage job agents (accounts) of control databases",
		command.StandsFor("jobs.agent", newListCommand(a)),
		a.Prints(output.Account{}, newShowCommand(a)),
		command.StandsFor("jobs.sp_set_job_agent", a.Prints(output.Account{}, newCreateCommand(a))),
		a.Prints(output.Account{}, newUpdateCommand(a)),
		command.StandsFor("jobs.sp_delete_job_agent", a.Prints(output.AccountName{}, newDeleteCommand(a))),
		command.StandsFor("jobs.sp_disable_job_agent", a.Prints(output.Account{}, newDisableCommand(a))),
		command.StandsFor("jobs.sp_enable_job_agent", a.Prints(output.Account{}, newEnableCommand(a))),
	)
	cmd.Long = `Manage job agents (accounts) of the control databases in the configuration.

An account is a control database and the job agent in it. A database that has never had one works without
("implicit"), unless its entry in control_databases has "implicit_agent": "". The commands change the control
database directly: neither a REST server nor an agent is needed.`
	return cmd
}

// database is a control database of the configuration.
type database struct {
	config.ControlDatabase
	store *controldb.Store
}

// changeDatabases is withDatabases for a command that changes something.
func changeDatabases(ctx context.Context, s *connect.Settings, fn func([]database) error) error {
	if err := s.AnnounceChange(); err != nil {
		return err
	}
	return withDatabases(ctx, s, fn)
}

// withDatabases calls fn with the control databases of the configuration, which need not answer.
func withDatabases(ctx context.Context, s *connect.Settings, fn func([]database) error) (err error) {
	file, err := s.Config()
	if err != nil {
		return err
	}
	dsn := ""
	if s.Named() || len(file.ControlDatabases) == 0 || file.ControlDatabases[0].DSN == "" {
		if dsn, err = s.ControlDSN(ctx); err != nil {
			return err
		}
	}
	if s.Named() {
		file.ControlDatabases = nil
	}
	entries, err := file.Databases(dsn)
	if err != nil {
		return err
	}
	var list []database
	defer func() {
		for _, d := range list {
			err = errors.Join(err, d.store.Close())
		}
	}()
	for _, e := range entries {
		if _, err := s.ParseDSN(e.DSN); err != nil {
			return err
		}
		settings, err := connect.ControlConfig(e.DSN)
		if err != nil {
			return err
		}
		settings.MaxConns = 2
		store, err := controldb.New(settings)
		if err != nil {
			return exit.Usagef("control database %q: %w", e.Name, err)
		}
		list = append(list, database{ControlDatabase: e, store: store})
	}
	return fn(list)
}

// read returns the account of a database. ok is false if it has none.
func (d database) read(ctx context.Context) (agent account.JobAgent, ok bool, err error) {
	agent, err = account.On(d.store).Read(ctx)
	switch {
	case errors.Is(err, dberror.ErrNotInstalled):
		return agent, false, nil
	case err != nil:
		return agent, false, fmt.Errorf("control database %q: %w", d.Name, err)
	case agent.State == account.AgentNone && *d.ImplicitAgent != "":
		agent.Name, agent.SKU, agent.Capacity = *d.ImplicitAgent, "JA100", 100
		return agent, true, nil
	}
	return agent, agent.State.Exists(), nil
}

// find returns the database that has an account, and the account.
func find(ctx context.Context, list []database, name string) (database, account.JobAgent, error) {
	var failed error
	for _, d := range list {
		agent, ok, err := d.read(ctx)
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case ok && strings.EqualFold(agent.Name, name):
			return d, agent, nil
		}
	}
	if failed != nil {
		return database{}, account.JobAgent{}, failed // it may be there
	}
	return database{}, account.JobAgent{}, exit.With(exit.CodeNotFound,
		fmt.Errorf("the account %q does not exist; jobagent account list shows all accounts", name))
}

// choose returns the database of a new account.
func choose(list []database, name string) (database, error) {
	var names []string
	for _, d := range list {
		if strings.EqualFold(d.Name, name) || name == "" && len(list) == 1 {
			return d, nil
		}
		names = append(names, d.Name)
	}
	if name == "" {
		return database{}, exit.Usagef("the configuration has several control databases: choose one with --database: %s", strings.Join(names, ", "))
	}
	return database{}, exit.Usagef("the configuration has no control database %q: want %s", name, strings.Join(names, ", "))
}

// view converts an account for -o json.
func (d database) view(agent account.JobAgent) (output.Account, error) {
	v := output.Account{
		Name: agent.Name, Database: d.Name, State: string(agent.State), Implicit: agent.State == account.AgentNone, SKU: agent.SKU,
		Capacity: agent.Capacity, Location: agent.Location, Identity: agent.Identity, Tags: []output.AccountTag{}, Reason: agent.Reason,
		DisabledBy: agent.Disabler, CreatedTime: output.Optional(agent.CreatedAt), ChangedTime: output.Optional(agent.ChangedAt),
	}
	if v.Implicit {
		v.State = string(account.AgentReady)
	}
	tags, err := agent.Tags()
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		v.Tags = append(v.Tags, output.AccountTag{Name: name, Value: tags[name]})
	}
	return v, err
}

func newListCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Short: "List the accounts of all control databases", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				var failed error
				views := []output.Account{}
				for _, d := range list {
					agent, ok, err := d.read(cmd.Context())
					if err != nil {
						failed = errors.Join(failed, err)
						views = append(views, output.Account{
							Database: d.Name, State: "Unavailable", Tags: []output.AccountTag{}, Reason: output.OneLine(err.Error()),
						})
						continue
					}
					if ok {
						v, err := d.view(agent)
						if err != nil {
							return err
						}
						views = append(views, v)
					}
				}
				return errors.Join(output.List(&a.Printer, views, columns), failed)
			})
		},
	})
}

// columns are those of account list and account show.
var columns = output.Columns([]output.Column[output.Account]{
	{Name: "name", ID: true, Min: 12, Keep: true},
	{Name: "database", Min: 10},
	{Name: "state", State: true, Keep: true},
	{Name: "sku", Drop: 6},
	{Name: "capacity", Drop: 6},
	{Name: "location", Wide: true},
	{Name: "created_time", Header: "CREATED", Wide: true},
	{Name: "reason", Min: 12, Rest: true, Drop: 1, Text: func(v output.Account) string {
		if v.Implicit {
			return "implicit: the database has no account, and works without"
		}
		return v.Reason
	}},
})

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ACCOUNT", Short: "Show an account", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				d, agent, err := find(cmd.Context(), list, args[0])
				if err != nil {
					return err
				}
				v, err := d.view(agent)
				if err != nil {
					return err
				}
				return a.Emit(v, func(io.Writer) error { return output.List(&a.Printer, []output.Account{v}, columns) })
			})
		},
	}
}

// settings are the flags of create and update.
type settings struct {
	sku, location, identity string
	capacity                int
	tags                    []string
	noWait                  bool
}

func (s *settings) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&s.sku, "sku", "", "tier: JA100, JA200, JA400, JA800, or JA and another number up to 10000")
	flags.IntVar(&s.capacity, "capacity", 0, "concurrent targets over all agents and runs; the number in --sku")
	flags.StringVar(&s.location, "location", "", "location, for display (default for a new account: that of the control database)")
	flags.StringVar(&s.identity, "identity", "", "resource `ID` of the identity for targets; empty: none")
	flags.StringArrayVar(&s.tags, "tag", nil, "tag `NAME=VALUE`; may be repeated; replaces all tags")
	flags.BoolVar(&s.noWait, "no-wait", false, "do not wait for the end of the operation")
}

// change returns what the flags change.
func (s *settings) change(cmd *cobra.Command, name string) (account.Change, error) {
	c := account.Change{
		Name: name, SKU: command.Given(cmd, "sku", s.sku), Capacity: command.Given(cmd, "capacity", s.capacity),
		Location: command.Given(cmd, "location", s.location), Identity: command.Given(cmd, "identity", s.identity),
	}
	if cmd.Flags().Changed("tag") {
		tags := map[string]string{}
		for _, one := range s.tags {
			k, v, ok := strings.Cut(one, "=")
			if _, twice := tags[k]; !ok || k == "" || twice {
				return c, exit.Usagef("invalid --tag %q: want NAME=VALUE, and each name once", one)
			}
			tags[k] = v
		}
		c.Tags = &tags
	}
	return c, nil
}

func newCreateCommand(a *connect.App) *cobra.Command {
	var s settings
	var name string
	cmd := &cobra.Command{
		Use: "create ACCOUNT", Short: "Create an account, and wait until it is ready", Args: cobra.ExactArgs(1),
		Long: `Create an account, and wait until it is ready. If its control database has no schema, and the entry in
control_databases has "install": true, the schema is installed.`,
		Example: "  jobagent account create sales --sku JA200\n  jobagent account create sales --database jobs2 --tag team=data",
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := s.change(cmd, args[0])
			if err != nil {
				return err
			}
			return changeDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				d, err := choose(list, name)
				if err != nil {
					return err
				}
				if err := accounts.Prepare(cmd.Context(), d.store, d.Install); err != nil {
					return err
				}
				agent, _, err := d.read(cmd.Context())
				if err != nil {
					return err
				}
				if agent.State.Exists() && strings.EqualFold(agent.Name, args[0]) {
					return exit.With(exit.CodeConflict, fmt.Errorf("the account %q exists: change it with jobagent account update", agent.Name))
				}
				if change.Location == nil {
					change.Location = &d.Location
				}
				return set(cmd.Context(), &a.Printer, d, change, s.noWait)
			})
		},
	}
	s.add(cmd)
	cmd.Flags().StringVar(&name, "database", "", "`name` of the control database in the configuration (required if there are several)")
	return cmd
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use: "update ACCOUNT", Short: "Change an account", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := s.change(cmd, args[0])
			if err != nil {
				return err
			}
			return changeDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				d, agent, err := find(cmd.Context(), list, args[0])
				if err != nil {
					return err
				}
				if agent.State == account.AgentNone { // an implicit account gets its row
					if change.Location == nil {
						change.Location = &d.Location
					}
				} else {
					change.MustExist = true
				}
				return set(cmd.Context(), &a.Printer, d, change, s.noWait)
			})
		},
	}
	s.add(cmd)
	return cmd
}

// set creates or changes an account, waits, and prints it.
func set(ctx context.Context, p *output.Printer, d database, change account.Change, noWait bool) error {
	_, operation, err := account.On(d.store).Set(ctx, change)
	if err != nil {
		return err
	}
	if operation != uuid.Nil && !noWait {
		if err := wait(ctx, p, d, operation); err != nil {
			return err
		}
	}
	return d.done(ctx, p)
}

// done prints the account of a database.
func (d database) done(ctx context.Context, p *output.Printer) error {
	agent, _, err := d.read(ctx)
	if err != nil {
		return err
	}
	v, err := d.view(agent)
	if err != nil {
		return err
	}
	return p.Done(v, "account %s in %s: %s, %s", v.Name, v.Database, v.State, v.SKU)
}

// wait waits for the end of an operation, and prints what it waits for.
func wait(ctx context.Context, p *output.Printer, d database, id uuid.UUID) error {
	last, at := "", time.Now()
	operation, err := accounts.Wait(ctx, d.store, id, func(o account.Operation) {
		text := "waiting for the operation " + o.ID.String()
		if o.ActiveRuns > 0 {
			text = fmt.Sprintf("waiting for %s to end", wording.Count(o.ActiveRuns, "run"))
		}
		if text != last && time.Since(at) >= time.Second {
			last, at = text, time.Now()
			p.Progress("%s", text)
		}
	})
	switch {
	case err != nil:
		return err
	case operation.Status == account.OperationInProgress:
		return fmt.Errorf("stopped waiting, the operation %s goes on: %w", id, context.Cause(ctx))
	case operation.Status == account.OperationFailed:
		return exit.With(exit.CodeFailure, fmt.Errorf("the operation failed: %s (%s)", operation.ErrorMessage, operation.ErrorCode))
	}
	return nil
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	var noWait bool
	cmd := &cobra.Command{
		Use: "delete ACCOUNT", Short: "Delete an account: stop its runs, and wait until it is gone", Args: cobra.ExactArgs(1),
		Long: `Delete an account: nothing starts any more, its active runs are stopped, and agents end their work for it. Jobs, schedules
and history are left in the control database, and work again for its next account.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				ctx := cmd.Context()
				d, agent, err := find(ctx, list, args[0])
				if err != nil {
					return err
				}
				if err := command.Confirm(cmd, command.Fixed("This deletes the account %s: all of its active runs are stopped, and nothing starts any more", agent.Name)); err != nil {
					return err
				}
				if agent.State == account.AgentNone { // the deletion must be recorded
					_, operation, err := account.On(d.store).Set(ctx, account.Change{Name: agent.Name, Location: &d.Location})
					if err == nil && operation != uuid.Nil {
						err = wait(ctx, &a.Printer, d, operation)
					}
					if err != nil {
						return err
					}
				}
				operation, err := account.On(d.store).Delete(ctx, agent.Name, uuid.Nil)
				if err != nil {
					return err
				}
				gone := output.AccountName{Name: agent.Name, Database: d.Name, State: string(account.AgentDeleting)}
				if noWait {
					return a.Done(gone, "account %s is being deleted", agent.Name)
				}
				if err := wait(ctx, &a.Printer, d, operation); err != nil {
					return err
				}
				gone.State = string(account.AgentDeleted)
				return a.Done(gone, "deleted account %s", agent.Name)
			})
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait until the account is gone")
	command.AddYes(cmd)
	return cmd
}

func newDisableCommand(a *connect.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "disable ACCOUNT", Short: "Disable an account: nothing starts, and nothing can be changed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				d, _, err := find(cmd.Context(), list, args[0])
				if err != nil {
					return err
				}
				if err := account.On(d.store).Disable(cmd.Context(), reason); err != nil {
					return err
				}
				return d.done(cmd.Context(), &a.Printer)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, for display")
	return cmd
}

func newEnableCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "enable ACCOUNT", Short: "Enable an account that is Disabled or Faulted", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeDatabases(cmd.Context(), &a.Settings, func(list []database) error {
				d, _, err := find(cmd.Context(), list, args[0])
				if err != nil {
					return err
				}
				if err := account.On(d.store).Enable(cmd.Context()); err != nil {
					return err
				}
				return d.done(cmd.Context(), &a.Printer)
			})
		},
	}
}
