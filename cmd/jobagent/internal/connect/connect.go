// Package connect opens the control database, the connections to targets, and the log.
package connect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// App is the state that the commands of one invocation share: streams, global flags, and the
// configuration file.
type App struct {
	output.Printer
	Stdin io.Reader

	DSN         string // --dsn
	ContextName string // --context
	ConfigPath  string // --config
	LogLevel    string

	config     config.File
	configRead bool
	control    control
	metrics    *metrics.Metrics
	warning    sync.Mutex
	warned     []mssql.Weakness // guarded by warning
	Target     targetFlags      // of the commands that connect to targets
}

// UseFront sets the address of the front in this process, also as that of callbacks, unless the
// configuration says where they are received. Config has been called.
func (a *App) UseFront(publicURL string) {
	a.config.REST.PublicURL = publicURL
	if c := &a.config.Callbacks; c.Listen == "" && c.PublicURL == "" {
		c.PublicURL = publicURL
	}
}

// warnReadable logs a warning for each file with secrets that other users may read.
func (a *App) warnReadable(files []string) error {
	for _, file := range files {
		mode, others := config.ReadableByOthers(file)
		if !others {
			continue
		}
		log, err := a.Logger()
		if err != nil {
			return err
		}
		log.Warn("other users may read a file with secrets or references to them: chmod 600", zap.String("file", file),
			zap.Stringer("mode", mode))
	}
	return nil
}

// ParseDSN parses a connection string. It logs weak encryption settings, each once.
func (a *App) ParseDSN(text string) (mssql.DSN, error) {
	dsn, err := mssql.ParseDSN(text)
	if err != nil {
		return dsn, exit.Usage(err)
	}
	return dsn, a.WarnWeak(dsn.Weaknesses())
}

// ParsedControlDSN returns the control database's connection string, parsed by [App.ParseDSN].
func (a *App) ParsedControlDSN(ctx context.Context) (mssql.DSN, error) {
	text, err := a.ControlDSN(ctx)
	if err != nil {
		return mssql.DSN{}, err
	}
	return a.ParseDSN(text)
}

// WarnWeak logs encryption settings that allow a third party to read or change a connection's data,
// each once.
func (a *App) WarnWeak(list []mssql.Weakness) error {
	a.warning.Lock() // the agents of several control databases open their tools at the same time
	defer a.warning.Unlock()
	list = slices.DeleteFunc(list, func(w mssql.Weakness) bool { return slices.Contains(a.warned, w) })
	if len(list) == 0 {
		return nil
	}
	log, err := a.Logger()
	if err != nil {
		return err
	}
	a.warned = append(a.warned, list...)
	for _, w := range list {
		log.Warn("connections are open to a man in the middle", zap.String("server", w.Servers),
			zap.String("setting", w.Setting), zap.String("reason", w.Text))
	}
	return nil
}

// OpenStore connects to the control database. It does not check the schema.
func (a *App) OpenStore(ctx context.Context) (*controldb.Store, error) {
	dsn, err := a.ControlDSN(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := a.ParseDSN(dsn); err != nil {
		return nil, err
	}
	cfg, err := ControlConfig(dsn)
	if err != nil {
		return nil, err
	}
	store, err := controldb.Open(ctx, cfg)
	if err != nil && !errors.Is(err, controldb.ErrUnreachable) && !errors.Is(err, controldb.ErrLoginFailed) {
		return nil, exit.Usage(err)
	}
	if err != nil {
		return nil, a.howToPin(err)
	}
	a.WarnPassword()
	var once sync.Once
	store = store.WithSlowCalls(slowCall, func(op string) {
		once.Do(func() {
			fmt.Fprintf(a.Stderr, "%s: still waiting for the control database; another session may hold a lock\n", op)
		})
	})
	return store.WithDeadlockRetries(func(op string, wait time.Duration) {
		fmt.Fprintf(a.Stderr, "%s: deadlock victim (error 1205), nothing was changed; retrying in %s\n", op,
			wait.Round(time.Millisecond))
	}), nil
}

// seenPin matches the hash of a certificate that is not trusted, in the error that proposes to pin
// it.
var seenPin = regexp.MustCompile(`\(SHA-256 ([0-9a-f]{64})\).*(pin the certificate with certificate_sha256)$`)

// howToPin replaces the name of the setting that pins a certificate by the command that sets it, if
// the connection is that of a context.
func (a *App) howToPin(err error) error {
	if c, cause := a.Connection(); cause == nil && c.Context != nil {
		return pinInContext(err, c.Context.Name)
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
func (a *App) OpenStoreToChange(ctx context.Context) (*controldb.Store, error) {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return nil, err
	}
	return store, a.AnnounceChange()
}

// WithStore runs fn with an open control database. It first checks that this program works with the
// database's schema, since fn may change the database.
func (a *App) WithStore(ctx context.Context, fn func(*controldb.Store) error) error {
	store, err := a.OpenStoreToChange(ctx)
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
func (a *App) ReadStore(ctx context.Context, fn func(*controldb.Store) error) error {
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	err = fn(store)
	var exitErr *exit.Error
	if err == nil || errors.As(err, &exitErr) || controldb.KindOf(err) == controldb.KindNotFound {
		return err
	}
	if schemaErr := checkSchema(ctx, store); errors.Is(schemaErr, controldb.ErrNotInstalled) || errors.Is(schemaErr,
		controldb.ErrSchemaVersion) || errors.Is(schemaErr, controldb.ErrNoRole) {
		return schemaErr
	}
	return err
}

// checkSchema fails unless this program works with the control database's schema. A login that may
// not read the schema's version, such as a member of jobs_reader only, passes: it can use only the
// public views and procedures.
func checkSchema(ctx context.Context, store *controldb.Store) error {
	_, err := store.CheckAgent(ctx)
	if errors.Is(err, controldb.ErrVersionHidden) {
		return nil
	}
	return err
}

// Logger returns a structured log on stderr: text on a terminal, else JSON.
func (a *App) Logger() (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(a.LogLevel)
	if err != nil {
		return nil, exit.Usagef("invalid log level %q: want debug, info, warn or error", a.LogLevel)
	}
	enc := zap.NewProductionEncoderConfig()
	enc.EncodeTime = zapcore.ISO8601TimeEncoder
	enc.EncodeDuration = zapcore.StringDurationEncoder
	encoder := zapcore.NewJSONEncoder(enc)
	if terminal.Is(a.Stderr) {
		enc.EncodeLevel = zapcore.CapitalColorLevelEncoder
		if a.Color.Painter(a.Stderr).Plain {
			enc.EncodeLevel = zapcore.CapitalLevelEncoder
		}
		encoder = zapcore.NewConsoleEncoder(enc)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(a.Stderr)), level)), nil
}
