package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/jobagent/jobagent/agent/rest/callbacks"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/targets/process"
	"github.com/jobagent/jobagent/targets/secretref"
)

// Callbacks configures the receiver of callbacks. It is off without listen.
type Callbacks struct {
	Listen    string `json:"listen"`     // host:port
	PublicURL string `json:"public_url"` // of the receiver, as seen by endpoints
	TLS       struct {
		Certificate string `json:"certificate"` // path of a PEM file; required unless listen is a loopback address
		Key         string `json:"key"`         // path of a PEM file
	} `json:"tls"`
	TrustedProxies []string `json:"trusted_proxies"` // CIDR prefixes and addresses of reverse proxies
}

// Receiver returns the configuration of the receiver.
func (c Callbacks) Receiver() callbacks.Config {
	return callbacks.Config{
		Listen: c.Listen, PublicURL: c.PublicURL, Certificate: c.TLS.Certificate, Key: c.TLS.Key, TrustedProxies: c.TrustedProxies,
	}
}

// Secret is a secret of the configuration: a reference as text, or an object with the hosts that
// may receive the secret.
type Secret struct {
	Reference string   `json:"ref"`   // env:NAME or file:PATH
	Hosts     []string `json:"hosts"` // patterns; nil: any host may receive the secret
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Secret) UnmarshalJSON(text []byte) error {
	*s = Secret{}
	if text[0] == '"' { // never empty
		return json.Unmarshal(text, &s.Reference)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return errors.New(`invalid secret: want a reference such as "env:NAME", or an object with ref and hosts`)
	}
	for name, value := range members {
		var err error
		switch name {
		case "ref":
			err = json.Unmarshal(value, &s.Reference)
		case "hosts":
			if err = json.Unmarshal(value, &s.Hosts); err == nil && s.Hosts == nil {
				s.Hosts = []string{} // null permits no host; only an absent member permits all
			}
		default:
			return fmt.Errorf("unknown member %q of a secret: want ref and hosts", name)
		}
		if err != nil {
			return fmt.Errorf("invalid %s of a secret: want ref, a text, and hosts, an array of texts", name)
		}
	}
	return nil
}

// secretName is the form of the NAME of $(secret.NAME).
var secretName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,127}$`)

// CheckActions checks the settings of actions, and returns all faults.
func (c File) CheckActions() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		if !secretName.MatchString(name) {
			errs = append(errs, fmt.Errorf("invalid name %q in secrets: want letters, digits, _ and -", name))
		}
		s := c.Secrets[name]
		if !secretref.IsReference(s.Reference) {
			errs = append(errs, fmt.Errorf("secrets.%s: %w", name, secretref.ErrInvalid))
		}
		if s.Hosts != nil {
			if err := outbound.CheckSecretHosts(s.Hosts); err != nil {
				errs = append(errs, fmt.Errorf("secrets.%s: %w", name, err))
			}
		}
	}
	for i, ref := range c.SecretKeys {
		if !secretref.IsReference(ref) {
			errs = append(errs, fmt.Errorf("secret_keys[%d]: %w", i, secretref.ErrInvalid))
		}
	}
	// Without listen, another process may receive the callbacks of this agent's actions.
	if c.Callbacks.Listen != "" || c.Callbacks.TLS.Certificate != "" || c.Callbacks.TLS.Key != "" || len(c.Callbacks.TrustedProxies) > 0 {
		if err := c.Callbacks.Receiver().Check(); err != nil {
			errs = append(errs, fmt.Errorf("callbacks: %w", err))
		}
	} else if c.Callbacks.PublicURL != "" {
		if err := callbacks.CheckPublicURL(c.Callbacks.PublicURL); err != nil {
			errs = append(errs, fmt.Errorf("callbacks: %w", err))
		}
	}
	if len(errs) > 0 {
		return exit.Usage(errors.Join(errs...))
	}
	return nil
}

// Process is a process that steps may run. Package targets/process has the defaults.
type Process struct {
	Name          string            `json:"name"`           // how steps name the process
	Path          string            `json:"path"`           // absolute path of the executable file
	Args          []string          `json:"args"`           // before those of the step
	ArgsPattern   string            `json:"args_pattern"`   // RE2 that each argument of a step must match; default: a step gives none
	User          string            `json:"user"`           // runs as another user; only an agent of root can do this
	Dir           string            `json:"dir"`            // working directory; default: one of the attempt's own
	Env           map[string]string `json:"env"`            // beside PATH, HOME, LANG, TZ and JOBAGENT_*
	MaxMemory     ByteSize          `json:"max_memory"`     // of the whole tree of processes
	MaxProcesses  int               `json:"max_processes"`  // of the whole tree
	MemoryLimit   string            `json:"memory_limit"`   // where the kernel cannot limit a tree: refuse (default), address-space or poll
	NewPrivileges bool              `json:"new_privileges"` // allow set-user-ID programs
	AgentFiles    bool              `json:"agent_files"`    // allow the use of the agent's own files, such as keys
}

// ProcessRunner returns the configuration of the runner of processes.
func (c File) ProcessRunner() process.Config {
	cfg := process.Config{
		Cgroup: c.Agent.ProcessCgroup, WorkDir: c.Agent.ProcessDir, Hidden: append(c.SecretFiles(""), c.Own...),
		Names: process.Names{Cgroup: "agent.process_cgroup", WorkDir: "agent.process_dir", Entries: "processes"},
	}
	for _, p := range c.Processes {
		cfg.Entries = append(cfg.Entries, process.Entry{
			Name: p.Name, Path: p.Path, Args: p.Args, ArgsPattern: p.ArgsPattern, User: p.User, Dir: p.Dir, Env: p.Env,
			MaxMemory: int64(p.MaxMemory), MaxProcesses: p.MaxProcesses, MemoryLimit: process.MemoryLimit(p.MemoryLimit),
			NewPrivileges: p.NewPrivileges, AgentFiles: p.AgentFiles,
		})
	}
	return cfg
}
