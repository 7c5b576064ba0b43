package dev

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/controldb"
)

// RESTTokenFile has the token of an administrator of the front, in the data directory.
const RESTTokenFile = "rest-token"

// sessionKeyFile has the key of the dashboard's sessions, in the data directory, so that people
// stay signed in over a restart.
const sessionKeyFile = "rest-session-key"

// linkLasts is how long the link to sign in, which is printed at the start, can be used.
const linkLasts = 10 * time.Minute

// RESTClientSecretFile has the secret of the client [RESTClientID], in the data directory.
const RESTClientSecretFile = "rest-client-secret"

// RESTClientID is the client with which tools log in at the issuer for development.
const RESTClientID = "00000000-0000-4000-8000-00000000c11e"

// restSettings say where the front is served.
type restSettings struct {
	listen string
	given  bool // on the command line
	issuer bool // serve the issuer for development
}

// openFront opens the front of `jobagent dev`: for the embedded server's control database, over TLS
// with the server's certificate, and with a token of an administrator beside the configured
// callers. It returns nil if the address is empty.
func openFront(ctx context.Context, settings restSettings, data string, cfg config.File, m *metrics.Metrics,
	server *embedded.Server, log *zap.Logger) (*front.Front, error) {
	if settings.listen == "" {
		return nil, nil
	}
	text, err := loadOrCreateText(data, RESTTokenFile, func() string {
		_, text := tokenfile.New()
		return text
	})
	if err != nil {
		return nil, fmt.Errorf("store the token of the REST server: %w", err)
	}
	id, secret, ok := tokenfile.Parse(text)
	if !ok {
		return nil, exit.Usagef("%s does not hold a token; delete it", filepath.Join(data, RESTTokenFile))
	}
	sum := sha256.Sum256([]byte(secret))
	database := config.ControlDatabase{Name: embedded.ControlDatabase, DSN: server.DSN(embedded.ControlDatabase)}
	databases, err := config.File{ControlDatabases: []config.ControlDatabase{database}}.Databases("")
	if err != nil {
		return nil, err
	}
	o := front.Options{Config: cfg.REST, Databases: databases, Log: log, Open: func(config.ControlDatabase) (*controldb.Store, error) {
		return server.OpenStore()
	}}
	o.Metrics, o.AnonymousMetrics = m, cfg.Metrics.Anonymous
	for _, c := range cfg.Credentials {
		o.Credentials = append(o.Credentials, c.Name)
	}
	o.Config.Listen = settings.listen
	o.Config.TLS.Certificate, o.Config.TLS.Key = filepath.Join(data, CertificateFile), filepath.Join(data, KeyFile)
	o.Config.Tokens = append([]tokenfile.Token{{
		ID: id, Name: "dev", SHA256: hex.EncodeToString(sum[:]), Role: "admin", Scope: "/",
	}}, o.Config.Tokens...)
	if o.Config.Web.SessionKey == "" {
		if _, err := loadOrCreateText(data, sessionKeyFile, func() string { return rand.Text() + rand.Text() }); err != nil {
			return nil, fmt.Errorf("store the key of sessions: %w", err)
		}
		o.Config.Web.SessionKey = "file:" + filepath.Join(data, sessionKeyFile)
	}
	shown, err := filepath.Abs(filepath.Join(data, RESTTokenFile))
	if err != nil {
		return nil, fmt.Errorf("path of the token: %w", err)
	}
	o.SignInHelp = "jobagent dev keeps a token in the file " + shown + "; its terminal shows a link that needs none."
	if settings.issuer {
		if err := addDevClient(data, &o); err != nil {
			return nil, err
		}
	}
	f, err := front.Open(ctx, o)
	if errors.Is(err, syscall.EADDRINUSE) && !settings.given {
		log.Warn("the usual address of the REST server is in use: another one is used", zap.String("address", settings.listen))
		o.Config.Listen = "127.0.0.1:0"
		f, err = front.Open(ctx, o)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = embedded.ListenError(o.Config.Listen, "--"+flagRESTListen, err)
	}
	if err != nil {
		return nil, err
	}
	log.Info("the token of an administrator of the REST server is stored in a file", zap.String("file", filepath.Join(data, RESTTokenFile)))
	return f, nil
}

// addDevClient adds the client of tools, an administrator, to the issuer for development.
func addDevClient(data string, o *front.Options) error {
	secret, err := loadOrCreateText(data, RESTClientSecretFile, func() string { return rand.Text() + rand.Text() })
	if err != nil {
		return fmt.Errorf("store the secret of the REST server's client: %w", err)
	}
	o.DevClients = []issuer.DevClient{{ID: RESTClientID, Secret: secret}}
	for _, role := range []string{"admin", "author", "operator", "reader"} { // people who sign in at the dashboard
		o.DevUsers = append(o.DevUsers, issuer.DevUser{Name: role, Roles: []string{"dev-" + role}})
		o.Config.Grants = append(o.Config.Grants, auth.Grant{Principal: "role:dev-" + role + "@" + issuer.DevName, Role: role, Scope: "/"})
	}
	o.Config.Grants = append([]auth.Grant{{Principal: "app:" + RESTClientID + "@" + issuer.DevName, Role: "admin", Scope: "/"}}, o.Config.Grants...)
	o.Log.Info("tools log in at the issuer for development with the client's secret in a file", zap.String("client_id", RESTClientID),
		zap.String("tenant_id", issuer.DevTenant), zap.String("file", filepath.Join(data, RESTClientSecretFile)))
	return nil
}
