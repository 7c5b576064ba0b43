package connect

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/mssql/azure"
)

// control is what an App has found out about the control database of its commands.
type control struct {
	none      bool              // the command has a control database of its own
	named     *contexts.Context // of --context or JOBAGENT_CONTEXT
	current   *contexts.Context // of the file
	read      bool              // current was read
	password  map[string]string // of contexts, by name: asked for once
	announced bool              // a change in production was announced
	warned    bool              // of a password on the command line
}

// Sources of a control database, in the order of precedence.
const (
	SourceFlag           = "--dsn"
	SourceContextFlag    = "--context"
	SourceEnv            = config.EnvDSN
	SourceContextEnv     = contexts.EnvContext
	SourceConfig         = "the configuration file"
	SourceCurrentContext = "the current context"
)

// Connection says where the control database of a command comes from.
type Connection struct {
	Source  string            // one of the constants; empty: there is none
	Context *contexts.Context // nil without a context
	text    string            // connection string or a reference to it; empty with a context
}

// OwnControlDatabase says that the command brings a control database of its own: contexts have no
// effect, not even by their configuration files. It fails if the command line names another one.
func (a *App) OwnControlDatabase() error {
	a.control.none = true
	if a.Named() {
		return exit.Usagef("--dsn and --context cannot be given: the command brings a control database of its own")
	}
	return nil
}

// Named reports whether the command line itself names a control database.
func (a *App) Named() bool { return a.DSN != "" || a.ContextName != "" }

// namedContext returns the context that --context or JOBAGENT_CONTEXT names and its source; nil if
// something of higher precedence gives the control database.
func (a *App) namedContext() (*contexts.Context, string, error) {
	name, source := a.ContextName, SourceContextFlag
	switch {
	case a.control.none:
		return nil, "", nil
	case a.DSN != "" && a.ContextName != "":
		return nil, "", exit.Usagef("--dsn and --context cannot be combined: both name a control database")
	case name == "" && (a.DSN != "" || os.Getenv(config.EnvDSN) != ""):
		return nil, "", nil
	case name == "":
		name, source = os.Getenv(contexts.EnvContext), SourceContextEnv
	}
	if name == "" || a.control.named != nil {
		return a.control.named, source, nil
	}
	file, err := contexts.Read()
	if err != nil {
		return nil, "", err
	}
	c, err := file.Get(name)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", source, err)
	}
	a.control.named = &c
	return &c, source, nil
}

// currentContext returns the current context of the file, or nil.
func (a *App) currentContext() (*contexts.Context, error) {
	if a.control.read || a.control.none {
		return a.control.current, nil
	}
	file, err := contexts.Read()
	if err != nil {
		return nil, err
	}
	a.control.read = true
	if file.Current == "" {
		return nil, nil
	}
	c, err := file.Get(file.Current)
	if err != nil {
		return nil, err
	}
	a.control.current = &c
	return &c, nil
}

// ConfigFile returns the path of the configuration file and what names it; empty: there is none.
// See package config for the order of precedence.
func (a *App) ConfigFile() (path, source string, err error) {
	if a.ConfigPath != "" {
		return a.ConfigPath, "--config", nil
	}
	c, _, err := a.namedContext()
	if err != nil {
		return "", "", err
	}
	if c != nil && c.Config != "" {
		return c.Config, "the context " + c.Name, nil
	}
	if path := os.Getenv(config.EnvConfig); path != "" {
		return path, config.EnvConfig, nil
	}
	if c != nil || a.DSN != "" || os.Getenv(config.EnvDSN) != "" {
		return "", "", nil
	}
	if c, err = a.currentContext(); err != nil || c == nil || c.Config == "" {
		return "", "", err
	}
	return c.Config, "the context " + c.Name, nil
}

// Config returns the configuration file, which it reads once.
func (a *App) Config() (config.File, error) {
	if a.configRead {
		return a.config, nil
	}
	path, _, err := a.ConfigFile()
	if err != nil {
		return config.File{}, err
	}
	cfg, err := config.Read(path)
	if err != nil {
		return cfg, err
	}
	a.config, a.configRead = cfg, true
	return cfg, a.warnReadable(cfg.SecretFiles(path))
}

// Connection returns the control database of the command: the first of --dsn, --context,
// JOBAGENT_DSN, JOBAGENT_CONTEXT, the configuration file and the current context. It reads no
// password.
func (a *App) Connection() (Connection, error) {
	if a.ConfigPath != "" { // a file that --config names is read in any case: its faults must not be hidden
		if _, err := a.Config(); err != nil {
			return Connection{}, err
		}
	}
	c, source, err := a.namedContext()
	switch {
	case err != nil:
		return Connection{}, err
	case a.DSN != "":
		return Connection{Source: SourceFlag, text: a.DSN}, nil
	case c != nil:
		return Connection{Source: source, Context: c}, nil
	case os.Getenv(config.EnvDSN) != "":
		return Connection{Source: SourceEnv, text: os.Getenv(config.EnvDSN)}, nil
	}
	cfg, err := a.Config()
	if err != nil {
		return Connection{}, err
	}
	if cfg.DSN != "" {
		return Connection{Source: SourceConfig, text: cfg.DSN}, nil
	}
	if c, err = a.currentContext(); err != nil || c == nil {
		return Connection{}, err
	}
	return Connection{Source: SourceCurrentContext, Context: c}, nil
}

// DSN returns the connection string, password included if it is in there. A context has none.
func (c Connection) DSN() (string, error) {
	if c.Context != nil {
		return c.Context.URL(""), nil
	}
	return config.Resolve(c.text)
}

// ControlDSN returns the control database's connection string; see [App.Connection]. It may ask a
// person for the password of a context, once.
func (a *App) ControlDSN(ctx context.Context) (string, error) {
	c, err := a.Connection()
	switch {
	case err != nil:
		return "", err
	case c.Source == "":
		return "", a.noControlDatabase()
	case c.Context == nil:
		return c.DSN()
	}
	password, err := a.contextPassword(ctx, *c.Context)
	if err != nil {
		return "", err
	}
	return c.Context.URL(password), nil
}

// noControlDatabase returns the error for a command without a control database.
func (a *App) noControlDatabase() error {
	hint := "make a context with jobagent context add"
	if file, err := contexts.Read(); err == nil && len(file.Contexts) > 0 {
		hint = "choose a context with --context or jobagent context use (there are " + strings.Join(file.Names(), ", ") + ")"
	}
	return exit.Usagef("no control database: give --dsn, set %s, %s, or name it in a configuration file (to try jobagent without a server, run `jobagent dev`)",
		config.EnvDSN, hint)
}

// contextPassword returns the password of a context. What a person or the keyring has answered is
// kept for the command; a variable or a file is read again for each connection.
func (a *App) contextPassword(ctx context.Context, c contexts.Context) (string, error) {
	if password, ok := a.control.password[c.Name]; ok {
		return password, nil
	}
	password, err := a.Secrets().Password(ctx, c)
	if err != nil {
		return "", err
	}
	if kind := c.PasswordKind(); kind == contexts.RefPrompt || kind == "keyring" {
		if a.control.password == nil {
			a.control.password = map[string]string{}
		}
		a.control.password[c.Name] = password
	}
	return password, nil
}

// Secrets returns what reads the passwords of contexts. A person is asked if stdin is a terminal.
func (a *App) Secrets() contexts.Secrets {
	s := contexts.Secrets{Notice: func() {
		fmt.Fprintln(a.Stderr, "waiting for the keyring: it may ask to be unlocked")
	}}
	if terminal.IsInput(a.Stdin) {
		s.Prompt = func(ctx context.Context, c contexts.Context) (string, error) {
			return terminal.ReadPassword(ctx, a.Stdin, a.Stderr, fmt.Sprintf("password of %s on %s (context %s): ", c.User, c.Server, c.Name))
		}
	}
	return s
}

// Production returns the name of the context of the command if that is one for production, else "".
func (a *App) Production() (string, error) {
	c, err := a.Connection()
	if err != nil || c.Context == nil || !c.Context.Production {
		return "", err
	}
	return c.Context.Name, nil
}

// AnnounceChange says on stderr that a command changes something in production, once. Commands that
// use OpenStoreToChange or WithStore need no call.
func (a *App) AnnounceChange() error {
	c, err := a.Connection()
	if err != nil || c.Context == nil || !c.Context.Production || a.control.announced {
		return err
	}
	a.control.announced = true
	_, err = fmt.Fprintln(a.Stderr, PaintContext(a.Color.Painter(a.Stderr), *c.Context,
		"production: context "+c.Context.Name+", "+c.Context.Place()))
	return err
}

// PaintContext returns text in the colour of a context.
func PaintContext(p terminal.Painter, c contexts.Context, text string) string {
	if style, ok := terminal.Named(c.Shade()); ok {
		return p.In(style, text)
	}
	return text
}

// WarnPassword warns, once, of a password on the command line.
func (a *App) WarnPassword() {
	if a.control.warned || a.DSN == "" {
		return
	}
	a.control.warned = true
	text, err := config.Resolve(a.DSN)
	if err != nil || text != a.DSN { // a reference
		return
	}
	if dsn, err := mssql.ParseDSN(text); err == nil && dsn.Params.Password != "" {
		fmt.Fprintf(a.Stderr, "warning: --dsn has a password, which other users can read in the list of processes: set %s, give --dsn env:NAME or file:PATH, or use a context (jobagent context add)\n",
			config.EnvDSN)
	}
}

// logins logs in to control databases with Microsoft Entra ID. It keeps tokens for all connections.
var logins = new(azure.Logins)

// entraKinds maps the values of fedauth in connection strings to kinds of credentials.
var entraKinds = map[string]mssql.CredentialKind{
	"activedirectorydefault": mssql.KindDefault, "activedirectorymanagedidentity": mssql.KindManagedIdentity,
	"activedirectorymsi": mssql.KindManagedIdentity, "activedirectoryserviceprincipal": mssql.KindServicePrincipal,
}

// ControlConfig returns the settings of a control database's connections. A connection string with
// fedauth logs in with Microsoft Entra ID.
func ControlConfig(text string) (controldb.Config, error) {
	cfg := controldb.Config{DSN: text}
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
		return cfg, exit.Usagef("connection string: unknown fedauth: want ActiveDirectoryDefault, ActiveDirectoryManagedIdentity or ActiveDirectoryServicePrincipal")
	}
	cfg.Login = func(dsn mssql.DSN) (*mssql.Connector, error) {
		login := mssql.EntraLogin{Kind: kind, User: dsn.Params.User, Secret: dsn.Params.Password}
		return dsn.EntraConnector(login, logins.Connector)
	}
	return cfg, nil
}
