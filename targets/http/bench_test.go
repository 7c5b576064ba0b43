package http_test

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	nethttp "net/http"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// BenchmarkAttempt compares an attempt with the same request by bare net/http under the same rule
// of connections.
func BenchmarkAttempt(b *testing.B) {
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "done")
	}))
	defer server.Close()

	b.Run("bare", func(b *testing.B) {
		client := &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}
		body := []byte(`{"a": 1}`)
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				resp, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	})
	b.Run("attempt", func(b *testing.B) {
		network, err := outbound.New(outbound.Config{Allow: outbound.LoopbackAllowed()})
		require.NoError(b, err)
		runner := http.NewRunner(network, http.Config{})
		begin := func(context.Context) (time.Time, error) { return time.Now().Add(time.Minute), nil }
		b.ReportAllocs()
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				a := attemptOf(post(server.URL))
				a.Begin = begin
				if result := runner.Run(context.Background(), a); result.Outcome != targets.Succeeded {
					b.Error(result.Summary)
					return
				}
			}
		})
	})
}
