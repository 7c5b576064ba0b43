package front

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/controldb"
)

// The issuer for development serves this machine only, whatever the public address says. Client
// certificates need authorities that verify them.
func TestCallersThatAreRefused(t *testing.T) {
	t.Parallel()
	options := func(change func(*Options)) Options {
		o := Options{
			Databases: []config.ControlDatabase{{
				Name: "jobs", Subscription: "00000000-0000-0000-0000-000000000000", ResourceGroup: "g", Server: "s", Location: "l", ImplicitAgent: new("default"),
			}},
			Open: func(config.ControlDatabase) (*controldb.Store, error) {
				return controldb.New(controldb.Config{DSN: "sqlserver://u:p@127.0.0.1:1?database=jobs"})
			},
			Log: zap.NewNop(),
		}
		o.Config.TLS.Certificate, o.Config.TLS.Key = "c.pem", "k.pem"
		change(&o)
		return o
	}
	require.NoError(t, Check(options(func(*Options) {})))
	for want, change := range map[string]func(*Options){
		"want a loopback address": func(o *Options) {
			o.Config.Listen, o.Config.PublicURL, o.DevClients = "0.0.0.0:8443", "https://localhost:8443", []issuer.DevClient{{ID: "a", Secret: "b"}}
		},
		"want tls.client_ca": func(o *Options) { o.Config.Certificates = []auth.Certificate{{Name: "a", SAN: "dns:a"}} },
		"certificates":       func(o *Options) { o.Config.Certificates = []auth.Certificate{{SAN: "a"}} },
		"grants[0]":          func(o *Options) { o.Config.Grants = []auth.Grant{{Principal: "x"}} },
	} {
		require.ErrorContains(t, Check(options(change)), want)
	}
	require.NoError(t, Check(options(func(o *Options) {
		o.Config.Listen, o.DevClients = "127.0.0.1:8443", []issuer.DevClient{{ID: "a", Secret: "b"}}
	})))
}
