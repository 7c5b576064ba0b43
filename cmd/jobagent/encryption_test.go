package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	clidoctor "github.com/jobagent/jobagent/cmd/jobagent/internal/cli/doctor"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/mitm"
)

// tcpTo dials one address.
type tcpTo string

func (a tcpTo) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", string(a))
}

// newImpostor starts a man in the middle before a server, with a certificate of its own for the
// server's name.
func newImpostor(t *testing.T, mode mitm.Mode, address string) *mitm.Proxy {
	t.Helper()
	stranger, err := mitm.NewAuthority()
	require.NoError(t, err)
	certificate, err := stranger.Sign([]string{"127.0.0.1", "localhost"}, nil)
	require.NoError(t, err)
	p, err := mitm.New(mode, tcpTo(address), certificate)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// A man in the middle of the connection to the control database learns the password only if the
// connection string allows plain text or any certificate.
func TestCommandsAgainstManInTheMiddle(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	const secret = "Canary-0f-the-wire"
	server := clitest.ServerWith(t, secret, "true")
	pin := mssql.CertificatePin(server.Certificate)
	for _, mode := range []mitm.Mode{mitm.Pass, mitm.End, mitm.Deny, mitm.Lie, mitm.Silent} {
		for parameters, code := range map[string]int{
			"":                            exit.CodeConnection,
			"encrypt=true":                exit.CodeConnection,
			"encrypt=strict":              exit.CodeConnection,
			"certificate_sha256=" + pin:   exit.CodeConnection,
			"encrypt=false":               exit.CodeUsage,
			"encrypt=optional":            exit.CodeUsage,
			"TrustServerCertificate=true": exit.CodeConnection,
			"encrypt=disable":             exit.CodeOK,
			"encrypt=strict&certificate_sha256=" + pin: exit.CodeConnection,
		} {
			proxy := newImpostor(t, mode, server.Address)
			seen := parameters == "encrypt=disable" || parameters == "TrustServerCertificate=true" && mode == mitm.End
			switch {
			case parameters == "TrustServerCertificate=true" && (mode == mitm.End || mode == mitm.Pass),
				strings.Contains(parameters, pin) && mode == mitm.Pass,
				strings.Contains(parameters, "strict&") && mode != mitm.End: // there is no PRELOGIN to change
				code = exit.CodeOK
			case parameters == "encrypt=disable" && mode == mitm.Silent:
				code, seen = exit.CodeConnection, false
			}
			dsn := (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", secret), Host: proxy.Address(),
				RawQuery: "database=" + embedded.ControlDatabase + "&" + parameters}).String()
			for _, line := range [][]string{{"job", "list"}, {"import", "sql-agent", "--database", "standin", "--time-zone",
				"UTC"}} {
				name := fmt.Sprint(mode, " ", parameters, " ", line)
				var stdout, stderr strings.Builder
				t.Setenv("JOBAGENT_TEST_CONTROL", dsn)
				got := cli.Run(t.Context(), append(line, "--dsn", "env:JOBAGENT_TEST_CONTROL"), strings.NewReader(""), &stdout, &stderr)
				if code == exit.CodeOK && line[0] == "import" {
					require.NotEqual(t, exit.CodeOK, got, name) // no database has this name
					require.Contains(t, stderr.String(), "standin", name)
				} else {
					require.Equal(t, code, got, "%s: %s", name, stderr.String())
				}
				require.NotContains(t, stdout.String()+stderr.String(), secret)
				errors := 0
				for l := range strings.Lines(stderr.String()) {
					if strings.HasPrefix(l, "error: ") {
						errors++
					}
				}
				require.LessOrEqual(t, errors, 1, "an error is one line")
				require.Equal(t, strings.HasPrefix(parameters, "Trust"),
					strings.Contains(stderr.String(), `"setting":"TrustServerCertificate=true"`), name)
			}
			require.Equal(t, seen, proxy.Saw(secret), "%s %s", mode, parameters)
		}
	}
}

// An agent waits for a server with the right certificate, logs the reason, and starts when the
// server has it.
func TestAgentWaitsForTheRightServer(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	const secret = "Canary-0f-the-wire"
	server := clitest.ServerWith(t, secret, "true")
	for name, c := range map[string]struct {
		mode mitm.Mode
		want string
	}{
		"OwnCertificate": {mitm.End, "is signed by an authority that this machine does not trust"},
		"NoEncryption":   {mitm.Deny, "does not encrypt, or an attacker on the network answers for it"},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := newImpostor(t, c.mode, server.Address)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			stderr := &watchedLog{until: 2, what: "cannot be used yet", reached: cancel}
			require.Equal(t, exit.CodeOK, cli.Run(ctx, []string{"run", "--dsn",
				"sqlserver://sa:" + secret + "@" + proxy.Address() + "?database=" +
					embedded.ControlDatabase}, strings.NewReader(""), &strings.Builder{}, stderr))
			require.Contains(t, stderr.text.String(), c.want)
			require.Equal(t, 2, stderr.seen, stderr.text.String())
			require.NotContains(t, stderr.text.String(), secret)
			require.False(t, proxy.Saw(secret))
		})
	}
}

// watchedLog counts the lines with a text, and calls a function at a certain number.
type watchedLog struct {
	text        strings.Builder
	what        string
	seen, until int
	reached     func()
}

// Write takes one line of the log.
func (l *watchedLog) Write(p []byte) (int, error) {
	if l.seen += strings.Count(string(p), l.what); l.seen == l.until {
		l.reached()
	}
	return l.text.Write(p)
}

// The connection strings in the README and in the output of the demo are encrypted and verified,
// and work.
func TestDocumentedConnectionStrings(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	demo, err := os.ReadFile("internal/demo/demo.go")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	server := startDev(t, "devdata", "127.0.0.1:0")
	found := regexp.MustCompile(`sqlserver://[^' …]+`).FindAllString(strings.ReplaceAll(string(readme)+string(demo),
		"%s", embedded.ControlDatabase), -1)
	require.GreaterOrEqual(t, len(found), 3)
	tried := 0
	for _, text := range found {
		if !strings.Contains(text, "127.0.0.1:1433") {
			dsn, err := mssql.ParseDSN(text)
			require.NoError(t, err, text)
			require.False(t, dsn.Encryption.Plain() || dsn.Encryption.Unverified(), text)
			continue
		}
		tried++
		dsn := strings.NewReplacer("127.0.0.1:1433", server.address, "Play-w1th-it", devPassword).Replace(text)
		var stderr strings.Builder
		t.Setenv("JOBAGENT_TEST_CONTROL", dsn)
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), []string{"job", "list", "--dsn", "env:JOBAGENT_TEST_CONTROL"}, strings.NewReader(""),
			&strings.Builder{}, &stderr), stderr.String())
		require.Empty(t, stderr.String())
		proxy := newImpostor(t, mitm.End, server.address)
		t.Setenv("JOBAGENT_TEST_CONTROL", strings.Replace(dsn, server.address, proxy.Address(), 1))
		require.Equal(t, exit.CodeConnection, cli.Run(t.Context(), []string{"job", "list", "--dsn", "env:JOBAGENT_TEST_CONTROL"},
			strings.NewReader(""), &strings.Builder{}, &stderr), text)
		require.False(t, proxy.Saw(devPassword))
	}
	require.Equal(t, 1, tried)

	// The certificate is the same after a restart, so that clients with the file can connect.
	before, err := os.ReadFile(filepath.Join("devdata", dev.CertificateFile))
	require.NoError(t, err)
	server.kill()
	again := startDev(t, "devdata", "127.0.0.1:0")
	require.Equal(t, server.pin, again.pin)
	after, err := os.ReadFile(filepath.Join("devdata", dev.CertificateFile))
	require.NoError(t, err)
	require.Equal(t, before, after)
	info, err := os.Stat(filepath.Join("devdata", dev.KeyFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// doctor reports weak encryption settings.
func TestDoctorFindsWeakEncryption(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	server := clitest.ServerWith(t, embedded.RandomPassword(), "true")
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"targets": {"servers": [{"match": "lab*", "encrypt": "disable"}, {"match": "x", "trust_server_certificate": true}]}}`), 0o600))
	findings := func(args ...string) (list []doctor.Finding) {
		var stdout, stderr strings.Builder
		_ = cli.Run(t.Context(), append([]string{"doctor", "-o", "json"}, args...), strings.NewReader(""), &stdout, &stderr)
		var all []doctor.Finding
		require.NoError(t, json.Unmarshal([]byte(stdout.String()), &all), stderr.String())
		for _, f := range all {
			if f.Code == clidoctor.CodeEncryption {
				list = append(list, f)
			}
		}
		return list
	}
	pinned := server.DSN(embedded.ControlDatabase)
	require.Equal(t, []doctor.Finding{{Code: clidoctor.CodeEncryption, Severity: doctor.SeverityOK,
		Found: "connections are encrypted, and servers are verified"}}, findings("--dsn", pinned))
	trusting := strings.Replace(pinned, "certificate_sha256="+mssql.CertificatePin(server.Certificate),
		"TrustServerCertificate=true", 1)
	var found []string
	for _, f := range findings("--dsn", trusting, "--config", path) {
		require.Equal(t, doctor.SeverityWarning, f.Severity)
		require.NotEmpty(t, f.Command)
		found = append(found, f.Found)
	}
	require.Equal(t, []string{"TrustServerCertificate=true for targets (x)",
		"TrustServerCertificate=true for the control database's server (" + server.Address + ")",
		"encrypt=disable for targets (lab*)"}, found)
}

// The configuration's encryption settings apply to targets: the general settings, and those of some
// servers.
func TestEncryptionOfTargetsByConfiguration(t *testing.T) {
	testenv.Long(t)
	t.Setenv(config.EnvDSN, "")
	const secret = "Canary-0f-the-wire"
	server := clitest.ServerWith(t, embedded.RandomPassword(), "true",
		func(cfg *embedded.Config) { cfg.TargetPassword = secret })
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE tenant;")
	require.NoError(t, err)
	pin := mssql.KeyPin(server.Certificate)
	type object map[string]any
	for name, c := range map[string]struct {
		mode   mitm.Mode
		reach  object // of targets
		want   string // part of the error; empty: the run succeeds
		warned string // setting and servers
		seen   bool
	}{
		"Default":      {mitm.Pass, nil, "signed by an authority that this machine does not trust", "", false},
		"Pinned":       {mitm.Pass, object{"certificate_sha256": []string{pin}}, "", "", false},
		"PinnedStrict": {mitm.Pass, object{"certificate_sha256": []string{pin}, "encrypt": "strict"}, "", "", false},
		"PinnedHere": {mitm.Pass, object{"servers": []object{{"match": "10.*"},
			{"match": "127.0.0.*", "certificate_sha256": []string{pin}}}}, "", "", false},
		"PinnedThere": {mitm.Pass, object{"servers": []object{{"match": "10.*", "certificate_sha256": []string{pin}}}},
			"signed by an authority", "", false},
		"PinnedInWay": {mitm.End, object{"certificate_sha256": []string{pin}}, "not the one whose certificate is pinned",
			"", false},
		"TrustInWay": {mitm.End, object{"trust_server_certificate": true}, "",
			`"server":"*","setting":"TrustServerCertificate=true"`, true},
		"TrustHere": {mitm.Pass, object{"servers": []object{{"match": "127.0.0.1", "trust_server_certificate": true}}},
			"", `"server":"127.0.0.1","setting":"TrustServerCertificate=true"`, false},
		"NoneInWay": {mitm.Deny, object{"trust_server_certificate": true}, "does not encrypt",
			`"setting":"TrustServerCertificate=true"`, false},
		"DisabledInWay": {mitm.Deny, object{"encrypt": "disable"}, "", `"server":"*","setting":"encrypt=disable"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := newImpostor(t, c.mode, server.Address)
			host, port, err := net.SplitHostPort(proxy.Address())
			require.NoError(t, err)
			group := "g" + name
			for _, line := range [][]string{
				{"target-group", "create", group}, {"target-group", "add", group, "--server", host + "," + port, "--database",
					"tenant"},
			} {
				var stderr strings.Builder
				require.Equal(t, exit.CodeOK, cli.Run(t.Context(), append(line, "--dsn", server.DSN(embedded.ControlDatabase)),
					strings.NewReader(""), &strings.Builder{}, &stderr), stderr.String())
			}
			reach := object{"default_credential": "c"}
			for k, v := range c.reach {
				reach[k] = v
			}
			t.Setenv("JOBAGENT_TEST_CANARY", secret)
			text, err := json.Marshal(object{"targets": reach, "credentials": []object{{"name": "c", "servers": []string{"*"},
				"user": embedded.TargetLogin, "secret": "env:JOBAGENT_TEST_CANARY"}}})
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "config.json")
			require.NoError(t, os.WriteFile(path, text, 0o600))
			var stdout, stderr strings.Builder
			t.Setenv("JOBAGENT_TEST_CONTROL", server.DSN(embedded.ControlDatabase))
			_ = cli.Run(t.Context(), []string{"doctor", "--targets", group, "--dsn", "env:JOBAGENT_TEST_CONTROL",
				"--config", path}, strings.NewReader(""), &stdout, &stderr)
			if c.want == "" {
				require.Contains(t, stdout.String(), "currently has 1 database, and all are reachable", stderr.String())
			} else {
				require.Contains(t, stdout.String(), c.want, stderr.String())
			}
			if c.warned == "" {
				require.Empty(t, stderr.String())
			} else {
				require.Equal(t, 1, strings.Count(stderr.String(), c.warned), stderr.String())
			}
			require.NotContains(t, stdout.String()+stderr.String(), secret)
			require.Equal(t, c.seen, proxy.Saw(secret))
		})
	}
	for want, bad := range map[string]string{
		"invalid server name: want host":       `{"servers": [{"encrypt": "true"}]}`,
		"encrypts the login only":              `{"encrypt": "false"}`,
		"64 hexadecimal digits":                `{"certificate_sha256": ["abc"]}`,
		"contradicts trust in any certificate": `{"certificate_sha256": ["` + pin + `"], "trust_server_certificate": true}`,
		"contradicts encrypt=disable":          `{"encrypt": "disable", "servers": [{"match": "h", "certificate_sha256": ["` + pin + `"]}]}`,
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		require.NoError(t, os.WriteFile(path, []byte(`{"targets": `+bad+`}`), 0o600))
		var stderr strings.Builder
		line := []string{"doctor", "--targets", "gDefault", "--dsn", server.DSN(embedded.ControlDatabase), "--config", path}
		require.Equal(t, exit.CodeUsage, cli.Run(t.Context(), line, strings.NewReader(""), &strings.Builder{}, &stderr), bad)
		require.Contains(t, stderr.String(), want)
	}
}

// TDS 8.0 works for the control database and for an agent's targets.
func TestStrictEverywhere(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	server := clitest.ServerWith(t, embedded.RandomPassword(), "strict")
	servers, err := server.OpenServers(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := connect.NewTools(t.Context(), server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(t.Context(), agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE tenant;")
	require.NoError(t, err)
	for _, line := range [][]string{
		{"target-group", "create", "g"}, {"target-group", "add", "g", "--server", server.ServerName(), "--database",
			"tenant"},
		{"job", "create", "j"}, {"step", "add", "j", "--target-group", "g", "--command", "SELECT 1 AS n"},
		{"job", "start", "j", "--wait"},
	} {
		var stderr strings.Builder
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), append(line, "--dsn", server.DSN(embedded.ControlDatabase)),
			strings.NewReader(""), &strings.Builder{}, &stderr), "%v: %s", line, stderr.String())
	}
}
