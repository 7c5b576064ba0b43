package config

import (
	"encoding/json"
	"errors"
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
	"github.com/jobagent/jobagent/targets/secretref"
)

// Environment variables that the command reads.
const (
	EnvDSN    = "JOBAGENT_DSN"    // connection string of the control database
	EnvConfig = "JOBAGENT_CONFIG" // path of the configuration file
)

// File is the configuration file: JSON, every field optional, unknown fields refused.
type File struct {
	// DSN is the connection string of the control database, or a reference to it: "env:NAME" or "file:PATH".
	DSN string `json:"dsn"`
	// Agent configures `jobagent run`.
	Agent struct {
		ID                   string   `json:"id"`                     // a GUID; keeps its name over restarts
		MaxConcurrentTargets string   `json:"max_concurrent_targets"` // a number, or JA100, JA200, JA400, JA800
		Prefetch             int      `json:"prefetch"`               // most tasks that are claimed beyond the free workers; default: as max_concurrent_targets
		OutcomeBuffer        int      `json:"outcome_buffer"`         // undelivered outcomes at which claiming stops; default: ten times max_concurrent_targets
		Lease                Duration `json:"lease"`                  // of a term without renewal; default 30s
		Grace                Duration `json:"grace"`                  // for running scripts when the agent stops; default 30s
		PollActive           Duration `json:"poll_active"`            // between two passes while tasks run; default 50ms
		PollIdle             Duration `json:"poll_idle"`              // between two passes otherwise; default 300ms
		MissedAfter          Duration `json:"missed_after"`           // delay after which a scheduled run counts as missed; default 60s
	} `json:"agent"`
	// Targets says how target servers are reached.
	Targets struct {
		Encrypt                string       `json:"encrypt"`                  // true (default), strict, disable
		TrustServerCertificate bool         `json:"trust_server_certificate"` // accept any certificate
		CertificateSHA256      []string     `json:"certificate_sha256"`       // of the servers' certificate, or of its public key: no other is accepted
		Servers                []Encryption `json:"servers"`                  // other encryption for some servers; the first that matches counts
		ConnectTimeout         Duration     `json:"connect_timeout"`          // of one login; default 15s
		DefaultCredential      string       `json:"default_credential"`       // used where a step or member names none
		AllowControlDatabase   bool         `json:"allow_control_database"`   // scripts may run where they have rights on a control database; default false
	} `json:"targets"`
	// Limits bound what one target may send.
	Limits Limits `json:"limits"`
	// Credentials are the entries that @credential_name and @refresh_credential_name name.
	Credentials []Credential `json:"credentials"`
}

// Encryption is how connections to some servers are encrypted.
type Encryption struct {
	Match                  string   `json:"match"`   // server name or pattern, as in a credential's servers
	Encrypt                string   `json:"encrypt"` // default: that of targets
	TrustServerCertificate bool     `json:"trust_server_certificate"`
	CertificateSHA256      []string `json:"certificate_sha256"`
}

// Encryption are the settings of encryption for targets.
func (c File) Encryption() mssql.Config {
	reach := mssql.Config{
		Encrypt: c.Targets.Encrypt, TrustServerCertificate: c.Targets.TrustServerCertificate, CertificateSHA256: c.Targets.CertificateSHA256,
	}
	for _, one := range c.Targets.Servers {
		reach.Servers = append(reach.Servers, mssql.ServerEncryption(one))
	}
	return reach
}

// Duration reads a Go duration ("30s") from JSON.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is text such as \"30s\": %w", err)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return err
	}
	*d = Duration(v)
	return nil
}

// Read reads the configuration file. An empty path means the one in JOBAGENT_CONFIG, or none.
func Read(path string) (File, error) {
	var cfg File
	if path == "" {
		path = os.Getenv(EnvConfig)
	}
	if path == "" {
		return cfg, nil
	}
	f, err := os.Open(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return cfg, exit.Usagef("configuration file %s: %w", path, err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&cfg); err != nil {
		return cfg, exit.Usagef("configuration file %s: %w", path, err)
	}
	return cfg, nil
}

// SecretFiles are the files that hold secrets or say where they are: the configuration file at path, and those that it refers to.
func (c File) SecretFiles(path string) (files []string) {
	refs := []string{c.DSN}
	for _, one := range c.Credentials {
		refs = append(refs, one.Secret)
	}
	if path != "" && slices.ContainsFunc(refs, func(ref string) bool { return ref != "" }) {
		files = append(files, path)
	}
	for _, ref := range refs {
		if file, ok := secretref.File(ref); ok && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// ReadableByOthers says whether others than the owner may read a file, as far as its mode tells.
func ReadableByOthers(path string) (mode fs.FileMode, others bool) {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" { // files have no such modes there
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o044 != 0
}

// Resolve returns the text that "env:NAME" or "file:PATH" refers to, and any other text as it is.
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

// tierTargets is how many targets Azure's capacity tiers run at once; decision 32.
var tierTargets = map[string]int{"JA100": 100, "JA200": 200, "JA400": 400, "JA800": 800}

// ParseConcurrency reads a number of concurrent targets or the name of a tier; empty means the default (0).
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
