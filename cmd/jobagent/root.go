package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// printer is where and how the commands of one invocation print.
type printer struct {
	stdout, stderr io.Writer
	output         outputFormat // --output
}

// app is what the commands of one invocation share.
type app struct {
	printer
	stdin io.Reader

	dsn        string // --dsn
	configPath string // --config
	logLevel   string

	config     fileConfig
	configRead bool
	warned     []mssql.Weakness
	target     targetFlags // of the commands that have them
}

// newRootCommand builds the whole tree of commands.
func newRootCommand(a *app) *cobra.Command {
	a.output = formatTable
	root := &cobra.Command{
		Use:   "jobagent",
		Short: "Run T-SQL across many SQL Server databases, on schedule",
		Long: `jobagent runs T-SQL across many SQL Server databases: on schedule, in parallel, with retries, time limits,
cancellation and a history. It works with the procedures and views of Azure SQL Elastic Jobs.

Try it without a server:   jobagent demo
A server to play with:     jobagent dev --data ./devdata
With your own SQL Server:  jobagent db install && jobagent run`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.dsn, "dsn", "", "connection string of the control database: `env:NAME|file:PATH`, or the text itself, which every user of this machine can read in the list of processes; encrypted and verified unless it says otherwise (default: "+envDSN+", then the configuration file)")
	flags.StringVar(&a.configPath, "config", "", "configuration file (default: "+envConfig+")")
	flags.VarP(&a.output, "output", "o", "output `format`: table or json")
	flags.StringVar(&a.logLevel, "log-level", "info", "least severe log entries to write to stderr: debug, info, warn, error")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		newDemoCommand(a), newDevCommand(a), newRunCommand(a), newDBCommand(a), newDoctorCommand(a), newAgentCommand(a),
		newJobCommand(a), newStepCommand(a), newTargetGroupCommand(a), newExecutionCommand(a), newLimitCommand(a), newHistoryCommand(a), newScriptCommand(a), newScheduleCommand(a), newCalendarCommand(a), newImportCommand(a),
		newBenchCommand(a), newVersionCommand(a), newLicensesCommand(a),
	)
	markUsageErrors(root)
	return root
}

// markUsageErrors makes cobra's complaints about arguments, missing flags and unknown commands usage errors, here and below.
func markUsageErrors(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err == nil {
				err = cmd.ValidateRequiredFlags() // cobra would do so later, with an error that nothing tells from others
			}
			if err != nil {
				return usagef("%w; see %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markUsageErrors(sub)
	}
}

// newGroupCommand makes a command that only holds others.
func newGroupCommand(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// fileConfig reads the configuration file once.
func (a *app) fileConfig() (fileConfig, error) {
	if a.configRead {
		return a.config, nil
	}
	cfg, err := readConfig(a.configPath)
	if err != nil {
		return cfg, err
	}
	a.config, a.configRead = cfg, true
	return cfg, a.warnReadable(cfg.secretFiles(cmp.Or(a.configPath, os.Getenv(envConfig))))
}

// warnReadable logs which files with secrets others may read.
func (a *app) warnReadable(files []string) error {
	for _, file := range files {
		mode, others := readableByOthers(file)
		if !others {
			continue
		}
		log, err := a.logger()
		if err != nil {
			return err
		}
		log.Warn("others may read a file that holds secrets or says where they are: chmod 600", zap.String("file", file), zap.Stringer("mode", mode))
	}
	return nil
}

// controlDSN is the control database's connection string: from the flag, the environment or the file.
func (a *app) controlDSN() (string, error) {
	cfg, err := a.fileConfig()
	if err != nil {
		return "", err
	}
	for _, source := range []string{a.dsn, os.Getenv(envDSN), cfg.DSN} {
		if source != "" {
			return resolveReference(source)
		}
	}
	return "", usagef("no control database: give --dsn, set %s, or name it in a configuration file (try `jobagent dev` for a server to play with)", envDSN)
}

// parseDSN reads a connection string that somebody gave, and warns, once, of what is weak about its encryption.
func (a *app) parseDSN(text string) (mssql.DSN, error) {
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return dsn, usage(err)
	}
	return dsn, a.warnWeak(dsn.Weaknesses())
}

// parsedControlDSN is controlDSN, read by parseDSN.
func (a *app) parsedControlDSN() (mssql.DSN, error) {
	text, err := a.controlDSN()
	if err != nil {
		return mssql.DSN{}, err
	}
	return a.parseDSN(text)
}

// warnWeak logs settings of encryption that leave a connection open to who is in its way, each once.
func (a *app) warnWeak(list []mssql.Weakness) error {
	list = slices.DeleteFunc(list, func(w mssql.Weakness) bool { return slices.Contains(a.warned, w) })
	if len(list) == 0 {
		return nil
	}
	log, err := a.logger()
	if err != nil {
		return err
	}
	a.warned = append(a.warned, list...)
	for _, w := range list {
		log.Warn("connections are not safe from who is in their way", zap.String("server", w.Servers), zap.String("setting", w.Setting), zap.String("reason", w.Text))
	}
	return nil
}

// openStore connects to the control database. It does not look at the schema.
func (a *app) openStore(ctx context.Context) (*controldb.Store, error) {
	dsn, err := a.controlDSN()
	if err != nil {
		return nil, err
	}
	if _, err := a.parseDSN(dsn); err != nil {
		return nil, err
	}
	store, err := controldb.Open(ctx, controldb.Config{DSN: dsn})
	if err != nil && !errors.Is(err, controldb.ErrUnreachable) && !errors.Is(err, controldb.ErrLoginFailed) {
		return nil, usage(err)
	}
	if err != nil {
		return nil, err
	}
	return store.WithDeadlockRetries(func(op string, wait time.Duration) {
		fmt.Fprintf(a.stderr, "%s: victim of a deadlock (error 1205), nothing was changed; trying again in %s\n", op, wait.Round(time.Millisecond))
	}), nil
}

// withStore runs fn with an open control database whose schema is the one that this binary knows, or of a release that works with it. A login that may not read its version,
// as one with the role jobs_reader only, goes on with what is public.
func (a *app) withStore(ctx context.Context, fn func(*controldb.Store) error) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := store.CheckAgent(ctx); err != nil && !errors.Is(err, controldb.ErrVersionHidden) {
		return err
	}
	return fn(store)
}

// logger makes the log: structured, on stderr; lines for people on a terminal, JSON otherwise.
func (a *app) logger() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(a.logLevel)
	if err != nil {
		return nil, usagef("log level %q: debug, info, warn or error is needed", a.logLevel)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if isTerminal(a.stderr) {
		enc.EncodeLevel = zapcore.CapitalColorLevelEncoder
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.stderr)), level)), nil
}

// emit prints v as JSON, or calls the printer of the table.
func (a *printer) emit(v any, asTable func(io.Writer) error) error {
	if a.output == formatJSON {
		return writeJSON(a.stdout, v)
	}
	return asTable(a.stdout)
}

// done says that something was done: a line for people, an object for programs.
func (a *printer) done(v any, format string, args ...any) error {
	return a.emit(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format+"\n", args...)
		return err
	})
}

// version is the binary's version: the module's when it was installed by version, else the commit's.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}

// newVersionCommand makes `jobagent version`.
func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the binary", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Schema  string `json:"schema_version"`
			}{version(), fmt.Sprint(controldb.SchemaVersion())}
			return a.done(v, "jobagent %s (control schema %s)", v.Version, v.Schema)
		},
	}
}
