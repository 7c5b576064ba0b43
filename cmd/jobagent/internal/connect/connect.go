// Package connect opens the control database, the connections to targets, and the log.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/installed"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/azure"
)

// App is the state that the commands of one invocation share. Commands that need only a part of it
// get the part.
type App struct {
	output.Printer
	Settings
	Connections
}

// New returns the state of an invocation.
func New(stdin io.Reader, stdout, stderr io.Writer) *App {
	a := &App{Printer: output.Printer{Stdout: stdout, Stderr: stderr}}
	a.Settings = Settings{Stdin: stdin, printer: &a.Printer}
	a.Connections.settings = &a.Settings
	return a
}

// Connections opens the control database, what an agent uses for targets, and what exports metrics
// and traces.
type Connections struct {
	Target targetFlags // of the commands that connect to targets

	settings *Settings
	metrics  *metrics.Metrics
}

// OpenStore connects to the control database. It does not check the schema.
func (c *Connections) OpenStore(ctx context.Context) (*controldb.Store, error) {
	dsn, err := c.settings.ControlDSN(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.settings.ParseDSN(dsn); err != nil {
		return nil, err
	}
	cfg, err := ControlConfig(dsn)
	if err != nil {
		return nil, err
	}
	store, err := controldb.Open(ctx, cfg)
	if err != nil && !errors.Is(err, dberror.ErrUnreachable) && !errors.Is(err, dberror.ErrLoginFailed) {
		return nil, exit.Usage(err)
	}
	if err != nil {
		return nil, c.howToPin(err)
	}
	c.settings.WarnPassword()
	var once sync.Once
	store = store.WithSlowCalls(slowCall, func(op string) {
		once.Do(func() {
			fmt.Fprintf(c.settings.printer.Stderr, "%s: still waiting for the control database; another session may hold a lock\n", op)
		})
	})
	return store.WithDeadlockRetries(func(op string, wait time.Duration) {
		fmt.Fprintf(c.settings.printer.Stderr, "%s: deadlock victim (error 1205), nothing was changed; retrying in %s\n", op,
			wait.Round(time.Millisecond))
	}), nil
}

// seenPin matches the hash of a certificate that is not trusted, in the error that proposes to pin
// it.
var seenPin = regexp.MustCompile(`\(SHA-256 ([0-9a-f]{64})\).*(pin the certificate with certificate_sha256)$`)

// howToPin replaces the name of the setting that pins a certificate by the command that sets it, if
// the connection is that of a context.
func (c *Connections) howToPin(err error) error {
	if from, cause := c.settings.Connection(); cause == nil && from.Context != nil {
		return pinInContext(err, from.Context.Name)
	}
	return err
}

// pinInContext is howToPin for the connection of a context.
func pinInContext(err error, name string) error {
	m := seenPin.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	return &pinError{strings.TrimSuffix(err.Error(), m[2]) + fmt.Sprintf("run jobagent context update %s --certificate-sha256 %s", name, m[1]), err}
}

// pinError is an error with another proposal at its end.
type pinError struct {
	text  string
	cause error
}

// Error implements error.
func (e *pinError) Error() string { return e.text }

// Unwrap returns the error with the name of the setting.
func (e *pinError) Unwrap() error { return e.cause }

// slowCall is how long a command waits for an answer of the control database before it says so.
const slowCall = 2 * time.Second

// OpenStoreToChange is OpenStore for a command that changes something. In a context for production
// it says so.
func (c *Connections) OpenStoreToChange(ctx context.Context) (*controldb.Store, error) {
	store, err := c.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	return store, c.settings.AnnounceChange()
}

// WithStore runs fn with an open control database. It first checks that this program works with the
// database's schema, since fn may change the database.
func (c *Connections) WithStore(ctx context.Context, fn func(*controldb.Store) error) error {
	store, err := c.OpenStoreToChange(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if err := checkSchema(ctx, store); err != nil {
		return err
	}
	return fn(store)
}

// ReadStore is WithStore for an fn that only reads. To save a round trip, it checks the schema only
// after fn has failed; the error is then the check's, if the schema is the reason.
func (c *Connections) ReadStore(ctx context.Context, fn func(*controldb.Store) error) error {
	store, err := c.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	err = fn(store)
	var exitErr *exit.Error
	if err == nil || errors.As(err, &exitErr) || dberror.KindOf(err) == dberror.KindNotFound {
		return err
	}
	if schemaErr := checkSchema(ctx, store); errors.Is(schemaErr, dberror.ErrNotInstalled) || errors.Is(schemaErr,
		dberror.ErrSchemaVersion) || errors.Is(schemaErr, dberror.ErrNoRole) {
		return schemaErr
	}
	return err
}

// Reads returns the function of a command that calls run with an open control database, as
// [Connections.ReadStore] does.
func (c *Connections) Reads(run func(cmd *cobra.Command, args []string, store *controldb.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return c.ReadStore(cmd.Context(), func(store *controldb.Store) error { return run(cmd, args, store) })
	}
}

// Changes returns the function of a command that calls run with an open control database, as
// [Connections.WithStore] does.
func (c *Connections) Changes(run func(cmd *cobra.Command, args []string, store *controldb.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return c.WithStore(cmd.Context(), func(store *controldb.Store) error { return run(cmd, args, store) })
	}
}

// One returns the function of a command with one argument, which parse reads before with opens the
// control database: [Connections.ReadStore] or [Connections.WithStore].
func One[K any](
	with func(context.Context, func(*controldb.Store) error) error, parse func(string) (K, error),
	run func(cmd *cobra.Command, one K, store *controldb.Store) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		one, err := parse(args[0])
		if err != nil {
			return err
		}
		return with(cmd.Context(), func(store *controldb.Store) error { return run(cmd, one, store) })
	}
}

// List completes a command that prints what read returns of the control database as a list, with
// the flags of lists.
func List[T any](
	a *App, columns output.Listing[T], cmd *cobra.Command, read func(cmd *cobra.Command, args []string, store *controldb.Store) ([]T, error),
) *cobra.Command {
	cmd.RunE = a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
		list, err := read(cmd, args, store)
		if err != nil {
			return err
		}
		return output.List(&a.Printer, list, columns)
	})
	return command.List(&a.Printer, columns, cmd)
}

// Does completes a command that changes the control database. do makes the change, and returns what
// is printed as a value. says is the sentence for people: a format of the arguments of the command.
func (a *App) Does(cmd *cobra.Command, says string, do func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error)) *cobra.Command {
	cmd.RunE = a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
		value, err := do(cmd, args, store)
		if err != nil {
			return err
		}
		return a.Done(value, "%s", sentence(says, args))
	})
	return cmd
}

// Deletes is Does for a command that asks before it deletes something, and has the flag --yes. asks
// is the question: a format of the arguments, too.
func (a *App) Deletes(
	cmd *cobra.Command, asks, says string, do func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error),
) *cobra.Command {
	command.AddYes(cmd)
	return a.Does(cmd, says, func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		if err := command.Confirm(cmd, command.Fixed("%s", sentence(asks, args))); err != nil {
			return nil, err
		}
		return do(cmd, args, store)
	})
}

// sentence formats a sentence about the arguments of a command.
func sentence(format string, args []string) string {
	return fmt.Sprintf(format, output.Each(args, func(arg string) any { return arg })...)
}

// checkSchema fails unless this program works with the control database's schema. A login that may
// not read the schema's version, such as a member of jobs_reader only, passes: it can use only the
// public views and procedures.
func checkSchema(ctx context.Context, store *controldb.Store) error {
	_, err := installed.On(store).CheckProtocol(ctx)
	if errors.Is(err, dberror.ErrVersionHidden) {
		return nil
	}
	return err
}

// logins logs in to control databases with Microsoft Entra ID. It keeps tokens for all connections.
var logins = new(azure.Logins)

// entraKinds maps the values of fedauth in connection strings to kinds of credentials.
var entraKinds = map[string]mssql.CredentialKind{
	"activedirectorydefault": mssql.KindDefault, "activedirectorymanagedidentity": mssql.KindManagedIdentity,
	"activedirectorymsi": mssql.KindManagedIdentity, "activedirectoryserviceprincipal": mssql.KindServicePrincipal,
}

// ControlConfig returns the settings of a control database's connections. A connection string with
// fedauth, or with SqlClient's Authentication, logs in with Microsoft Entra ID.
func ControlConfig(text string) (controldb.Config, error) {
	cfg := controldb.Config{DSN: text, Program: buildinfo.Version()}
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return cfg, exit.Usage(err)
	}
	word, given := dsn.Params.Parameters["fedauth"]
	if !given {
		return cfg, nil
	}
	kind, known := entraKinds[strings.ToLower(word)]
	if !known {
		return cfg, exit.Usagef("connection string: unknown fedauth or Authentication: want ActiveDirectoryDefault, ActiveDirectoryManagedIdentity or ActiveDirectoryServicePrincipal")
	}
	cfg.Login = func(dsn mssql.DSN) (*mssql.Connector, error) {
		login := mssql.EntraLogin{Kind: kind, User: dsn.Params.User, Secret: dsn.Params.Password}
		return dsn.EntraConnector(login, logins.Connector)
	}
	return cfg, nil
}
