package callbacks

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/testenv/mitm"
)

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   Config
		fault string // empty: valid
	}{
		{cfg: Config{Listen: "127.0.0.1:0"}},
		{cfg: Config{Listen: "localhost:8443", PublicURL: "https://agent.example.com/jobs"}},
		{cfg: Config{Listen: ":8443", PublicURL: "https://agent.example.com", Certificate: "c", Key: "k"}},
		{cfg: Config{Listen: ":8443", PublicURL: "https://agent.example.com"}, fault: "want tls, or a loopback address"},
		{cfg: Config{Listen: "10.0.0.1:80"}, fault: "invalid public_url"},
		{cfg: Config{Listen: "8443"}, fault: "invalid listen"},
		{cfg: Config{Listen: "127.0.0.1:0", Certificate: "c"}, fault: "want both certificate and key"},
		{cfg: Config{Listen: "127.0.0.1:0", PublicURL: "http://agent.example.com"}, fault: "want https"},
		{cfg: Config{Listen: "127.0.0.1:0", PublicURL: "https://u:p@agent.example.com"}, fault: "invalid public_url"},
		{cfg: Config{Listen: "127.0.0.1:0", PublicURL: "https://agent.example.com?x=1"}, fault: "invalid public_url"},
		{cfg: Config{Listen: "127.0.0.1:0", PublicURL: "ftp://agent.example.com"}, fault: "invalid public_url"},
	} {
		err := c.cfg.Check()
		if c.fault == "" {
			require.NoError(t, err, "%+v", c.cfg)
			continue
		}
		require.ErrorContains(t, err, c.fault, "%+v", c.cfg)
	}
}

// A receiver with TLS answers, logs no part of a path, and stops in order.
func TestReceiverWithTLS(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.DebugLevel)
	certificate, key, err := mitm.WriteSelfSigned(t.TempDir())
	require.NoError(t, err)
	r, err := Listen(t.Context(), Config{
		Listen: "127.0.0.1:0", PublicURL: "https://agent.example.com/jobs", Certificate: certificate, Key: key,
	}, nil, zap.New(core))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }() // ends with ctx
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // the test's own certificate
	}}
	const token = "not-a-token-but-secret"
	res, err := client.Post("https://"+r.listener.Address()+"/jobs/callbacks/"+token, "application/json",
		strings.NewReader(`{"success": true}`))
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.JSONEq(t, `{"code": 404, "type": "Not Found", "message": "No callback has this token."}`, string(text))
	cancel()
	require.NoError(t, <-ended)
	for _, entry := range logs.All() {
		require.NotContains(t, entry.Message, token)
		for _, value := range entry.ContextMap() {
			require.NotContains(t, value, token)
		}
	}
}
