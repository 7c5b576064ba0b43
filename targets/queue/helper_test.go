package queue

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv/mitm"
)

// authority issues the certificates of all servers of the tests.
var authority = sync.OnceValues(mitm.NewAuthority)

// certificate returns a certificate for 127.0.0.1, and the path of its authority's.
func certificate(t testing.TB) (*tls.Certificate, string) {
	t.Helper()
	a, err := authority()
	require.NoError(t, err)
	pair, err := a.Sign([]string{"127.0.0.1"}, nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "authority.pem")
	require.NoError(t, os.WriteFile(path, a.PEM(), 0o600))
	return pair, path
}

// writePair writes a certificate and its key as PEM files.
func writePair(t testing.TB, pair *tls.Certificate) (key, chain string) {
	t.Helper()
	dir := t.TempDir()
	key, chain = filepath.Join(dir, "key.pem"), filepath.Join(dir, "chain.pem")
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	var text []byte
	for _, one := range pair.Certificate {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one})...)
	}
	require.NoError(t, os.WriteFile(chain, text, 0o600))
	return key, chain
}

// service is a server over TLS that stands for a queue service.
type service struct {
	*httptest.Server
	network *outbound.Network
	// host is host:port.
	host string
}

// serve starts a service. change may change the configuration of the network that reaches it.
func serve(t testing.TB, handler http.HandlerFunc, change func(*outbound.Config)) *service {
	t.Helper()
	pair, root := certificate(t)
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{*pair}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return &service{Server: s, network: newNetwork(t, root, change), host: strings.TrimPrefix(s.URL, "https://")}
}

// newNetwork returns a network that reaches this machine, and trusts the authority of the tests.
func newNetwork(t testing.TB, root string, change func(*outbound.Config)) *outbound.Network {
	t.Helper()
	cfg := outbound.Config{Allow: outbound.LoopbackAllowed(), CA: "file:" + root}
	if change != nil {
		change(&cfg)
	}
	n, err := outbound.New(cfg)
	require.NoError(t, err)
	return n
}

// run runs an attempt of a definition.
func run(t testing.TB, n *outbound.Network, d *action.Definition, change func(*targets.ActionAttempt)) targets.Result {
	t.Helper()
	a := theAttempt()
	a.Action = d
	begun := 0
	a.Begin = func(context.Context) (time.Time, error) { begun++; return time.Now().Add(time.Minute), nil }
	if change != nil {
		change(&a)
	}
	res := NewRunner(Config{Network: n, UserAgent: "jobagent/test"}).Run(t.Context(), a)
	require.LessOrEqual(t, begun, 1, "Begin is called at most once")
	require.NotEmpty(t, res.Outcome)
	require.Equal(t, res.Outcome == targets.Succeeded || res.Outcome == targets.Accepted, res.Err == nil)
	return res
}

// withStorage and withServiceBus return definitions.
func withStorage(q action.StorageQueue, secrets ...string) *action.Definition {
	return &action.Definition{Type: action.TypeStorageQueue, StorageQueue: &q, Secrets: secrets}
}

func withServiceBus(b action.ServiceBus, secrets ...string) *action.Definition {
	return &action.Definition{Type: action.TypeServiceBusQueue, ServiceBus: &b, Secrets: secrets}
}

// texts returns all texts of a result.
func texts(res targets.Result) string {
	all := []string{res.Summary, res.Error.Text, res.Error.String()}
	if res.Err != nil {
		all = append(all, res.Err.Error())
	}
	for _, m := range res.Messages {
		all = append(all, m.Text, m.Procedure, m.Server)
	}
	return strings.Join(all, "\n")
}

// messageOf returns the text of the only message of a kind.
func messageOf(t testing.TB, res targets.Result, kind targets.MessageKind) targets.Message {
	t.Helper()
	var found []targets.Message
	for _, m := range res.Messages {
		if m.Kind == kind {
			found = append(found, m)
		}
	}
	require.Len(t, found, 1, "messages of kind %s in %v", kind, res.Messages)
	return found[0]
}

// closedAddress returns an address on which nothing listens.
func closedAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
