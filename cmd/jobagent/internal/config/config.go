// Package config reads the configuration file and the references in it.
//
// What names the control database, the first of:
//
//  1. --dsn. It cannot be combined with --context.
//  2. --context, a context of package contexts.
//  3. JOBAGENT_DSN.
//  4. JOBAGENT_CONTEXT, the name of a context.
//  5. "dsn" of the configuration file.
//  6. The current context.
//
// What names the configuration file, the first of:
//
//  1. --config.
//  2. "config" of the context that --context or JOBAGENT_CONTEXT names, if it is used.
//  3. JOBAGENT_CONFIG.
//  4. "config" of the current context, if neither --dsn nor JOBAGENT_DSN nor 2 gives the control
//     database.
//
// The agent and the front serve "control_databases" of the file instead, unless --dsn or --context
// chooses one database. `jobagent dev` and `jobagent demo` bring their own database: contexts have
// no effect on them. `jobagent context show --effective` prints what a command would use.
package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Environment variables that the command reads.
const (
	EnvDSN    = "JOBAGENT_DSN"    // connection string of the control database
	EnvConfig = "JOBAGENT_CONFIG" // path of the configuration file
)

// File is the configuration file, a JSON object. Every field is optional; unknown fields are
// refused.
type File struct {
	// DSN is the control database's connection string, or a reference to it: "env:NAME" or
	// "file:PATH".
	DSN string `json:"dsn"`
	// Agent configures `jobagent run`.
	Agent struct {
		ID                   string   `json:"id"`                     // GUID; an agent that restarts with the same ID ends its previous term
		MaxConcurrentTargets Workers  `json:"max_concurrent_targets"` // a number, or JA100, JA200, JA400, JA800
		Prefetch             int      `json:"prefetch"`               // most tasks claimed beyond the free workers; default: max_concurrent_targets
		OutcomeBuffer        int      `json:"outcome_buffer"`         // undelivered outcomes that stop claiming; default: 10 × max_concurrent_targets
		Lease                Duration `json:"lease"`                  // duration of a term without renewal; default 30s
		Grace                Duration `json:"grace"`                  // time for running scripts when the agent stops; default 30s
		PollActive           Duration `json:"poll_active"`            // interval of passes for 2 s after a claim, delivery or stop; default 50ms
		PollIdle             Duration `json:"poll_idle"`              // interval of passes otherwise; default 300ms
		MissedAfter          Duration `json:"missed_after"`           // delay after which a scheduled run is missed; default 60s

		ProcessCgroup string `json:"process_cgroup"` // delegated cgroup v2 directory for processes; default: the agent's own
		ProcessDir    string `json:"process_dir"`    // directory in which processes get theirs; default: that for temporary files
	} `json:"agent"`
	// Targets configures the connections to target servers.
	Targets struct {
		Encrypt                string       `json:"encrypt"`                  // true (default), strict, disable
		TrustServerCertificate bool         `json:"trust_server_certificate"` // accept any certificate
		CertificateSHA256      []string     `json:"certificate_sha256"`       // of the server's certificate or public key; others are refused
		Servers                []Encryption `json:"servers"`                  // encryption of some servers; the first match applies
		ConnectTimeout         Duration     `json:"connect_timeout"`          // of one login; default 15s
		DefaultCredential      string       `json:"default_credential"`       // of steps and members without a credential
		// StoredCredentialServers are the patterns of the servers to which agents may send
		// credentials that are stored in the control database.
		StoredCredentialServers []string `json:"stored_credential_servers"`
		AllowControlDatabase    bool     `json:"allow_control_database"` // allow scripts on servers where they have rights on a control database
		AnonymousSessions       bool     `json:"anonymous_sessions"`     // leave run, step and job out of program_name and CONTEXT_INFO
	} `json:"targets"`
	// Limits bounds the data that a target may send.
	Limits Limits `json:"limits"`
	// Credentials are the credentials that steps and target group members name.
	Credentials []Credential `json:"credentials"`
	// Outbound says what actions may call, and has the credentials of actions.
	Outbound outbound.Config `json:"outbound"`
	// Processes are the processes that steps may run.
	Processes []Process `json:"processes"`
	// Secrets are the secrets that actions name as $(secret.NAME). They take precedence over the
	// sealed secrets of the control database.
	Secrets map[string]Secret `json:"secrets"`
	// SecretKeys are references to the private keys that open the control database's sealed
	// secrets.
	SecretKeys []string `json:"secret_keys"`
	// Tracing configures the export of traces.
	Tracing Tracing `json:"tracing"`
	// Callbacks configures the receiver of reports on actions that end outside of the agent.
	Callbacks Callbacks `json:"callbacks"`
	// ControlDatabases are the control databases that the front serves; default: the one of dsn.
	ControlDatabases []ControlDatabase `json:"control_databases"`
	// REST configures the front.
	REST REST `json:"rest"`
	// Metrics configures what Prometheus may read.
	Metrics Metrics `json:"metrics"`
	// Own are files and directories of the agent that are hidden from processes, beside those that
	// the file names: the file itself, and the data directory of `jobagent dev`.
	Own []string `json:"-"`
}

// Encryption configures the encryption of the connections to some servers.
type Encryption struct {
	Match                  string   `json:"match"`   // server name or pattern, as in a credential's servers
	Encrypt                string   `json:"encrypt"` // default: that of targets
	TrustServerCertificate bool     `json:"trust_server_certificate"`
	CertificateSHA256      []string `json:"certificate_sha256"`
}

// Encryption returns the encryption settings of targets.
func (c File) Encryption() mssql.Config {
	settings := mssql.Config{
		Encrypt: c.Targets.Encrypt, TrustServerCertificate: c.Targets.TrustServerCertificate,
		CertificateSHA256: c.Targets.CertificateSHA256,
	}
	for _, one := range c.Targets.Servers {
		settings.Servers = append(settings.Servers, mssql.ServerEncryption(one))
	}
	return settings
}

// Duration is a duration. In JSON it is a string such as "30s".
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	const want = "want a duration such as \"30s\" or \"5m\""
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s, found %s", want, b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("invalid duration %q: %s", s, want)
	}
	*d = Duration(v)
	return nil
}

// SecretFiles returns the files that hold secrets or references to them: the configuration file at
// path, and the files to which it refers.
func (c File) SecretFiles(path string) (files []string) {
	refs := append([]string{c.DSN}, c.SecretKeys...)
	for _, one := range c.Secrets {
		refs = append(refs, one.Reference)
	}
	refs = append(refs, c.Outbound.SecretReferences()...)
	for _, one := range c.Credentials {
		refs = append(refs, one.Secret)
	}
	for _, ref := range c.Tracing.Headers {
		refs = append(refs, ref)
	}
	for _, one := range c.ControlDatabases {
		refs = append(refs, one.DSN)
	}
	refs = append(append(refs, c.REST.secretReferences()...), c.Metrics.Token)
	if path != "" && slices.ContainsFunc(refs, func(ref string) bool { return ref != "" }) {
		files = append(files, path)
	}
	files = append(files, c.REST.secretFiles()...)
	for _, key := range []string{c.Callbacks.TLS.Key, c.Metrics.TLS.Key} {
		if key != "" {
			files = append(files, key)
		}
	}
	for _, one := range c.Credentials {
		for _, file := range []string{one.Keytab, strings.TrimPrefix(one.CredentialCache, "FILE:")} {
			if file != "" {
				files = append(files, file)
			}
		}
	}
	for _, ref := range refs {
		if file, ok := secretref.File(ref); ok && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// ReadableByOthers reports whether a file's mode lets users other than its owner read the file.
func ReadableByOthers(path string) (mode fs.FileMode, others bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" { // Windows files have no such mode
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o044 != 0
}

// Resolve returns the text to which "env:NAME" or "file:PATH" refers, and any other text unchanged.
func Resolve(text string) (string, error) {
	if !secretref.IsReference(text) {
		return text, nil
	}
	value, err := secretref.Read(text)
	if err != nil {
		return "", exit.Usagef("connection string %s: %w", text, err)
	}
	return strings.TrimSpace(value), nil
}

// Workers is a number of concurrent targets; 0 means the default. In JSON it is a number, or a
// string with a number or the name of a tier.
type Workers int

// UnmarshalJSON implements json.Unmarshaler.
func (w *Workers) UnmarshalJSON(b []byte) error {
	text := string(b)
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	}
	if text == "null" {
		return nil
	}
	n, err := ParseConcurrency(text)
	*w = Workers(n)
	return err
}

// tierTargets maps the capacity tiers of Azure Elastic Jobs to concurrent targets (decision 32).
var tierTargets = map[string]int{"JA100": 100, "JA200": 200, "JA400": 400, "JA800": 800}

// ParseConcurrency parses a number of concurrent targets or the name of a tier. Empty text is 0,
// the default.
func ParseConcurrency(s string) (int, error) {
	if s == "" {
		return 0, nil
	}
	if n, ok := tierTargets[strings.ToUpper(s)]; ok {
		return n, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, exit.Usagef("invalid number of concurrent targets %q: want a number above 0, or JA100, JA200, JA400 or JA800", s)
	}
	return n, nil
}
