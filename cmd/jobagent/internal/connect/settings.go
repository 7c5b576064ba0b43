package connect

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/contexts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/targets/mssql"
)

// Settings is what the command line, the contexts and the configuration file say.
type Settings struct {
	Stdin io.Reader

	DSN         string // --dsn
	ContextName string // --context
	ConfigPath  string // --config
	LogLevel    string

	printer    *output.Printer // for questions, warnings and the log
	config     config.File
	configRead bool
	warning    sync.Mutex
	warned     []mssql.Weakness // guarded by warning

	none           bool              // the command has a control database of its own
	named          *contexts.Context // of --context or JOBAGENT_CONTEXT
	current        *contexts.Context // of the file
	currentRead    bool
	password       map[string]string // of contexts, by name: asked for once
	announced      bool              // a change in production was announced
	warnedPassword bool              // of a password on the command line
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
func (s *Settings) OwnControlDatabase() error {
	s.none = true
	if s.Named() {
		return exit.Usagef("--dsn and --context cannot be given: the command brings a control database of its own")
	}
	return nil
}

// Named reports whether the command line itself names a control database.
func (s *Settings) Named() bool { return s.DSN != "" || s.ContextName != "" }

// namedContext returns the context that --context or JOBAGENT_CONTEXT names and its source; nil if
// something of higher precedence gives the control database.
func (s *Settings) namedContext() (*contexts.Context, string, error) {
	name, source := s.ContextName, SourceContextFlag
	switch {
	case s.none:
		return nil, "", nil
	case s.DSN != "" && s.ContextName != "":
		return nil, "", exit.Usagef("--dsn and --context cannot be combined: both name a control database")
	case name == "" && (s.DSN != "" || os.Getenv(config.EnvDSN) != ""):
		return nil, "", nil
	case name == "":
		name, source = os.Getenv(contexts.EnvContext), SourceContextEnv
	}
	if name == "" || s.named != nil {
		return s.named, source, nil
	}
	file, err := contexts.Read()
	if err != nil {
		return nil, "", err
	}
	c, err := file.Get(name)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", source, err)
	}
	s.named = &c
	return &c, source, nil
}

// currentContext returns the current context of the file, or nil.
func (s *Settings) currentContext() (*contexts.Context, error) {
	if s.currentRead || s.none {
		return s.current, nil
	}
	file, err := contexts.Read()
	if err != nil {
		return nil, err
	}
	s.currentRead = true
	if file.Current == "" {
		return nil, nil
	}
	c, err := file.Get(file.Current)
	if err != nil {
		return nil, err
	}
	s.current = &c
	return &c, nil
}

// ConfigFile returns the path of the configuration file and what names it; empty: there is none.
// See package config for the order of precedence.
func (s *Settings) ConfigFile() (path, source string, err error) {
	if s.ConfigPath != "" {
		return s.ConfigPath, "--config", nil
	}
	c, _, err := s.namedContext()
	if err != nil {
		return "", "", err
	}
	if c != nil && c.Config != "" {
		return c.Config, "the context " + c.Name, nil
	}
	if path := os.Getenv(config.EnvConfig); path != "" {
		return path, config.EnvConfig, nil
	}
	if c != nil || s.DSN != "" || os.Getenv(config.EnvDSN) != "" {
		return "", "", nil
	}
	if c, err = s.currentContext(); err != nil || c == nil || c.Config == "" {
		return "", "", err
	}
	return c.Config, "the context " + c.Name, nil
}

// Config returns the configuration file, which it reads once.
func (s *Settings) Config() (config.File, error) {
	if s.configRead {
		return s.config, nil
	}
	path, _, err := s.ConfigFile()
	if err != nil {
		return config.File{}, err
	}
	cfg, err := config.Read(path)
	if err != nil {
		return cfg, err
	}
	s.config, s.configRead = cfg, true
	return cfg, s.warnReadable(cfg.SecretFiles(path))
}

// Connection returns the control database of the command: the first of --dsn, --context,
// JOBAGENT_DSN, JOBAGENT_CONTEXT, the configuration file and the current context. It reads no
// password.
func (s *Settings) Connection() (Connection, error) {
	if s.ConfigPath != "" { // a file that --config names is read in any case: its faults must not be hidden
		if _, err := s.Config(); err != nil {
			return Connection{}, err
		}
	}
	c, source, err := s.namedContext()
	switch {
	case err != nil:
		return Connection{}, err
	case s.DSN != "":
		return Connection{Source: SourceFlag, text: s.DSN}, nil
	case c != nil:
		return Connection{Source: source, Context: c}, nil
	case os.Getenv(config.EnvDSN) != "":
		return Connection{Source: SourceEnv, text: os.Getenv(config.EnvDSN)}, nil
	}
	cfg, err := s.Config()
	if err != nil {
		return Connection{}, err
	}
	if cfg.DSN != "" {
		return Connection{Source: SourceConfig, text: cfg.DSN}, nil
	}
	if c, err = s.currentContext(); err != nil || c == nil {
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

// ControlDSN returns the control database's connection string; see [Settings.Connection]. It may
// ask a person for the password of a context, once.
func (s *Settings) ControlDSN(ctx context.Context) (string, error) {
	c, err := s.Connection()
	switch {
	case err != nil:
		return "", err
	case c.Source == "":
		return "", s.noControlDatabase()
	case c.Context == nil:
		return c.DSN()
	}
	password, err := s.contextPassword(ctx, *c.Context)
	if err != nil {
		return "", err
	}
	return c.Context.URL(password), nil
}

// noControlDatabase returns the error for a command without a control database.
func (s *Settings) noControlDatabase() error {
	hint := "make a context with jobagent context add"
	if file, err := contexts.Read(); err == nil && len(file.Contexts) > 0 {
		hint = "choose a context with --context or jobagent context use (there are " + strings.Join(file.Names(), ", ") + ")"
	}
	return exit.Usagef("no control database: give --dsn, set %s, %s, or name it in a configuration file (to try jobagent without a server, run `jobagent dev`)",
		config.EnvDSN, hint)
}

// contextPassword returns the password of a context. What a person or the keyring has answered is
// kept for the command; a variable or a file is read again for each connection.
func (s *Settings) contextPassword(ctx context.Context, c contexts.Context) (string, error) {
	if password, ok := s.password[c.Name]; ok {
		return password, nil
	}
	password, err := s.Secrets().Password(ctx, c)
	if err != nil {
		return "", err
	}
	if kind := c.PasswordKind(); kind == contexts.RefPrompt || kind == "keyring" {
		if s.password == nil {
			s.password = map[string]string{}
		}
		s.password[c.Name] = password
	}
	return password, nil
}

// Secrets returns what reads the passwords of contexts. A person is asked if stdin is a terminal.
func (s *Settings) Secrets() contexts.Secrets {
	secrets := contexts.Secrets{Notice: func() {
		fmt.Fprintln(s.printer.Stderr, "waiting for the keyring: it may ask to be unlocked")
	}}
	if terminal.IsInput(s.Stdin) {
		secrets.Prompt = func(ctx context.Context, c contexts.Context) (string, error) {
			return terminal.ReadPassword(ctx, s.Stdin, s.printer.Stderr, fmt.Sprintf("password of %s on %s (context %s): ", c.User, c.Server, c.Name))
		}
	}
	return secrets
}

// Production returns the name of the context of the command if that is one for production, else "".
func (s *Settings) Production() (string, error) {
	c, err := s.Connection()
	if err != nil || c.Context == nil || !c.Context.Production {
		return "", err
	}
	return c.Context.Name, nil
}

// AnnounceChange says on stderr that a command changes something in production, once. Commands that
// use OpenStoreToChange or WithStore need no call.
func (s *Settings) AnnounceChange() error {
	c, err := s.Connection()
	if err != nil || c.Context == nil || !c.Context.Production || s.announced {
		return err
	}
	s.announced = true
	_, err = fmt.Fprintln(s.printer.Stderr, PaintContext(s.printer.Color.Painter(s.printer.Stderr), *c.Context,
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
func (s *Settings) WarnPassword() {
	if s.warnedPassword || s.DSN == "" {
		return
	}
	s.warnedPassword = true
	text, err := config.Resolve(s.DSN)
	if err != nil || text != s.DSN { // a reference
		return
	}
	if dsn, err := mssql.ParseDSN(text); err == nil && dsn.Params.Password != "" {
		fmt.Fprintf(s.printer.Stderr, "warning: --dsn has a password, which other users can read in the list of processes: set %s, give --dsn env:NAME or file:PATH, or use a context (jobagent context add)\n",
			config.EnvDSN)
	}
}

// UseFront sets the address of the front in this process, also as that of callbacks, unless the
// configuration says where they are received. Config has been called.
func (s *Settings) UseFront(publicURL string) {
	s.config.REST.PublicURL = publicURL
	if c := &s.config.Callbacks; c.Listen == "" && c.PublicURL == "" {
		c.PublicURL = publicURL
	}
}

// warnReadable logs a warning for each file with secrets that other users may read.
func (s *Settings) warnReadable(files []string) error {
	for _, file := range files {
		mode, others := config.ReadableByOthers(file)
		if !others {
			continue
		}
		log, err := s.Logger()
		if err != nil {
			return err
		}
		log.Warn("other users may read a file with secrets or references to them: chmod 600", zap.String("file", file),
			zap.Stringer("mode", mode))
	}
	return nil
}

// ParseDSN parses a connection string. It logs weak encryption settings, each once.
func (s *Settings) ParseDSN(text string) (mssql.DSN, error) {
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return dsn, exit.Usage(err)
	}
	return dsn, s.WarnWeak(dsn.Weaknesses())
}

// ParsedControlDSN returns the control database's connection string, parsed by [Settings.ParseDSN].
func (s *Settings) ParsedControlDSN(ctx context.Context) (mssql.DSN, error) {
	text, err := s.ControlDSN(ctx)
	if err != nil {
		return mssql.DSN{}, err
	}
	return s.ParseDSN(text)
}

// WarnWeak logs encryption settings that allow a third party to read or change a connection's data,
// each once.
func (s *Settings) WarnWeak(list []mssql.Weakness) error {
	s.warning.Lock() // the agents of several control databases open their tools at the same time
	defer s.warning.Unlock()
	list = slices.DeleteFunc(list, func(w mssql.Weakness) bool { return slices.Contains(s.warned, w) })
	if len(list) == 0 {
		return nil
	}
	log, err := s.Logger()
	if err != nil {
		return err
	}
	s.warned = append(s.warned, list...)
	for _, w := range list {
		log.Warn("connections are open to a man in the middle", zap.String("server", w.Servers),
			zap.String("setting", w.Setting), zap.String("reason", w.Text))
	}
	return nil
}

// Logger returns a structured log on stderr: text on a terminal, else JSON.
func (s *Settings) Logger() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(s.LogLevel)
	if err != nil {
		return nil, exit.Usagef("invalid log level %q: want debug, info, warn or error", s.LogLevel)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if terminal.Is(s.printer.Stderr) {
		enc.EncodeLevel = zapcore.CapitalColorLevelEncoder
		if s.printer.Color.Painter(s.printer.Stderr).Plain {
			enc.EncodeLevel = zapcore.CapitalLevelEncoder
		}
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(s.printer.Stderr)), level)), nil
}
