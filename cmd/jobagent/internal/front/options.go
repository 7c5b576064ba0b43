package front

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/alerts"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/outbound"
)

// OptionsOf returns the options that the configuration gives. The logger is missing.
func OptionsOf(ctx context.Context, a *connect.App) (o Options, err error) {
	file, err := a.Config()
	if err != nil {
		return o, err
	}
	dsn := ""
	if len(file.ControlDatabases) == 0 || file.ControlDatabases[0].DSN == "" {
		if dsn, err = a.ControlDSN(ctx); err != nil {
			return o, err
		}
	}
	if o.Databases, err = file.Databases(dsn); err != nil {
		if other := file.REST.Check(); other != nil { // all faults at once
			err = exit.Usage(errors.Join(err, other))
		}
		return o, err
	}
	for _, c := range file.Credentials {
		o.Credentials = append(o.Credentials, c.Name)
	}
	network, err := outbound.New(file.Outbound)
	if err != nil {
		return o, exit.Usage(err)
	}
	o.Config, o.Guard = file.REST, network.Check
	actions, err := connect.NewActions(file, buildinfo.Version(), false)
	if err != nil {
		return o, err
	}
	o.Alerts = func(store *controldb.Store, pages string, log *zap.Logger) *alerts.Service {
		return actions.Alerts(store, file, pages, log)
	}
	o.AnonymousMetrics = file.Metrics.Anonymous
	if o.Metrics, err = a.Metrics(); err != nil {
		return o, err
	}
	o.Open = func(d config.ControlDatabase) (*controldb.Store, error) {
		if _, err := a.ParseDSN(d.DSN); err != nil { // warns of weak encryption
			return nil, err
		}
		settings, err := connect.ControlConfig(d.DSN)
		if err != nil {
			return nil, err
		}
		settings.MaxConns = maxConns
		store, err := controldb.New(settings)
		if err != nil {
			return nil, exit.Usage(err)
		}
		return store, nil
	}
	return o, nil
}

// maxConns bounds the connections to each control database.
const maxConns = 32

// withRetries returns a store that repeats calls after a deadlock, and logs it.
func withRetries(store *controldb.Store, log *zap.Logger) *controldb.Store {
	return store.WithDeadlockRetries(func(op string, wait time.Duration) {
		log.Warn("deadlock victim, retrying", zap.String("call", op), zap.Duration("retry_in", wait))
	})
}

// Files of the certificate that UseOwnCertificate makes.
const (
	certificateFile = "rest-certificate.pem"
	keyFile         = "rest-key.pem"
)

// UseOwnCertificate makes a certificate, or reads the one made before, if the configuration has
// none and the address is a loopback address. Clients have to trust its file.
func UseOwnCertificate(o *Options) error {
	l := o.Config.Listener()
	if l.Certificate != "" || l.InsecureHTTP {
		return nil
	}
	if err := l.Check(); err != nil { // also that the address is a loopback address
		return exit.Usagef("rest: %w", err)
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return exit.Usage(err)
	}
	dir, err := os.UserConfigDir()
	if err == nil {
		dir = filepath.Join(dir, "jobagent")
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return exit.Usagef("no place for a certificate (set rest.tls, or rest.insecure_http): %w", err)
	}
	certificate, key := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)
	if _, err := embedded.LoadOrCreateCertificate(certificate, key, net.JoinHostPort(host, "0")); err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	o.Config.TLS.Certificate, o.Config.TLS.Key = certificate, key
	o.Log.Info("clients have to trust the REST server's certificate", zap.String("certificate", certificate))
	return nil
}

// hasCallers reports whether anybody may call a front.
func hasCallers(c config.REST) bool {
	return len(c.Tokens)+len(c.Issuers)+len(c.Certificates)+len(c.SAP.Instances) > 0 || c.TokenFile != ""
}
