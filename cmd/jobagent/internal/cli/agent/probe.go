package agent

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/rest/scrape"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/targets/outbound"
)

// probeTime bounds a probe; the agent answers from memory.
const probeTime = 4 * time.Second

// newProbeCommand returns `jobagent agent probe`, for containers that have no other program.
func newProbeCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "probe", Short: "Ask the agent of this machine whether it works; exits with 7 if it does not",
		Long: `Ask the agent of this machine whether it works: whether it holds a term of a control database. The
agent answers on the address metrics.listen of the configuration file (` + scrape.PathReady + `). The exit code is 0 if
it works, 7 if it does not, and 4 if nothing answers. The control database is not asked.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := a.Config()
			if err != nil {
				return err
			}
			url, client, err := prober(file.Metrics)
			if err != nil {
				return err
			}
			answer, err := probe(cmd.Context(), client, url)
			if err != nil {
				return err
			}
			return a.Done(output.AgentProbe{URL: url, Answer: answer}, "%s", answer)
		},
	}
}

// prober returns the address of the probe as seen from this machine, and a client for it. With TLS,
// the client accepts the certificate of the configuration only.
func prober(m config.Metrics) (url string, client *http.Client, err error) {
	if m.Listen == "" {
		return "", nil, exit.Usagef("the configuration has no metrics.listen, so no agent of this machine answers a probe")
	}
	host, port, err := net.SplitHostPort(m.Listen)
	if err != nil {
		return "", nil, exit.Usagef("metrics.listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	direct := outbound.Direct{Timeout: probeTime}
	scheme := "http"
	if m.TLS.Certificate != "" {
		scheme = "https"
		text, err := os.ReadFile(m.TLS.Certificate)
		if err != nil {
			return "", nil, exit.Usagef("metrics.tls.certificate: %w", err)
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return "", nil, exit.Usagef("metrics.tls.certificate: %s has no certificate", m.TLS.Certificate)
		}
		direct.TLS = onlyCertificate(block.Bytes)
	}
	return scheme + "://" + net.JoinHostPort(host, port) + scrape.PathReady, direct.Client(), nil
}

// onlyCertificate accepts one certificate, whatever its names are: the address is that of this
// machine.
func onlyCertificate(der []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection verifies more
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, der) {
				return errors.New("the certificate is not that of metrics.tls.certificate")
			}
			return nil
		},
	}
}

// probe asks once.
func probe(ctx context.Context, client *http.Client, url string) (answer string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", exit.Usagef("metrics.listen: %w", err)
	}
	response, err := client.Do(r)
	if err != nil {
		return "", exit.With(exit.CodeConnection, fmt.Errorf("no agent answers: %w", err))
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err != nil {
		return "", exit.With(exit.CodeConnection, fmt.Errorf("read the answer: %w", err))
	}
	answer = output.OneLine(strings.TrimSpace(string(text)))
	if response.StatusCode != http.StatusOK {
		return "", exit.With(exit.CodeRunFailed, fmt.Errorf("%s (%s)", answer, response.Status))
	}
	return answer, nil
}
