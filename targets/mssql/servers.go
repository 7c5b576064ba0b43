package mssql

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Servers opens sessions on servers with named credentials. Safe for concurrent use.
type Servers struct {
	cfg        Config
	encryption Encryption         // for servers that match no exception
	exceptions []serverEncryption // the first that matches counts
	admitted   admissions

	// budget is shared by all sessions that run scripts.
	budget *tdsguard.Budget
	// questions is shared by all sessions whose rows go to a person, who may be a slow reader.
	questions *tdsguard.Budget
	lastRead  atomic.Pointer[reading]

	mu     sync.Mutex
	closed bool
	pools  map[poolKey]*pool
	parsed map[string]msdsn.Config // by the text of the endpoint
}

// maxParsed bounds the memory for parsed names. Parsing a name takes as long as a small query, and
// each attempt logs in.
const maxParsed = 4096

// serverEncryption is a parsed ServerEncryption.
type serverEncryption struct {
	match      pattern
	text       string // the pattern as written
	encryption Encryption
}

// NewServers validates the configuration. It makes no connection. The caller must call Close.
func NewServers(cfg Config) (*Servers, error) {
	cfg.AppName = cmp.Or(cfg.AppName, "jobagent")
	cfg.LoginTimeout = cmp.Or(cfg.LoginTimeout, DefaultLoginTimeout)
	if cfg.Dialer == nil {
		cfg.Dialer = tcpDialer{}
	}
	if cfg.LoginTimeout < 0 {
		err := fmt.Errorf("invalid value %v: want 0 or more", cfg.LoginTimeout)
		return nil, &targets.ConfigError{Subject: "login timeout", Err: err}
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if err := cfg.Limits.validate(); err != nil {
		return nil, &targets.ConfigError{Subject: "limits", Err: err}
	}
	s := &Servers{cfg: cfg, budget: tdsguard.NewBudget(cfg.Limits.BufferBytes),
		questions: tdsguard.NewPatientBudget(cfg.Limits.BufferBytes), pools: make(map[poolKey]*pool), parsed: make(map[string]msdsn.Config)}
	var err error
	s.encryption, err = newEncryption("encryption of targets",
		cfg.Encrypt, cfg.TrustServerCertificate, cfg.CertificateSHA256)
	if err != nil {
		return nil, err
	}
	for _, one := range cfg.Servers {
		subject := fmt.Sprintf("encryption of targets %q", one.Match)
		match, err := parsePattern(one.Match)
		if err != nil {
			return nil, &targets.ConfigError{Subject: subject, Err: err}
		}
		e, err := newEncryption(subject, cmp.Or(one.Encrypt, cfg.Encrypt), one.TrustServerCertificate, one.CertificateSHA256)
		if err != nil {
			return nil, err
		}
		s.exceptions = append(s.exceptions, serverEncryption{match, one.Match, e})
	}
	return s, nil
}

// newEncryption parses encryption settings. The error is a *targets.ConfigError.
func newEncryption(subject, encrypt string, trust bool, pins []string) (e Encryption, err error) {
	e.trust = trust
	if e.mode, err = parseEncrypt(encrypt); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("encrypt %q: %w", encrypt, err)}
	}
	if e.pins, err = parsePins(pins...); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("%s: %w", pinParameter, err)}
	}
	if err := e.validate(); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: err}
	}
	return e, nil
}

// encryptionOf returns the encryption of connections to an endpoint. A pattern with a port does not
// match an instance whose port is not known.
func (s *Servers) encryptionOf(e endpoint) Encryption {
	for _, one := range s.exceptions {
		if one.match.covers(e) && (one.match.port == "" || e.port != 0) {
			return one.encryption
		}
	}
	return s.encryption
}

// Weaknesses lists the encryption settings that expose connections to an attacker on the network,
// each with its servers; "*" stands for all servers without a setting of their own. Unencrypted
// connections to the machine itself are not listed.
func (s *Servers) Weaknesses() []Weakness {
	var list []Weakness
	for _, one := range s.exceptions {
		if !one.encryption.Plain() || !isLoopback(one.match.host) {
			list = append(list, one.encryption.weaknesses(one.text)...)
		}
	}
	return append(list, s.encryption.weaknesses("*")...)
}

// Connector returns the connector for a database, without connecting. The server's name may have
// any form of SqlClient: host, host\instance or host,port, optionally after tcp:. An empty
// credential means DefaultCredential. The error is a *targets.ConfigError.
func (s *Servers) Connector(server, database, credential string) (*Connector, error) {
	return s.connector(server, database, credential, s.cfg.AppName, false)
}

// lookUp parses a server's name and finds the credential for it. It reads no secret of the
// configuration. The error is a *targets.ConfigError.
func (s *Servers) lookUp(server, credential string) (endpoint, Credential, error) {
	e, err := parseEndpoint(server)
	if err != nil {
		return endpoint{}, Credential{}, &targets.ConfigError{Subject: fmt.Sprintf("server name %q", server), Err: err}
	}
	c, err := s.cfg.Credentials.forEndpoint(credential, server, e)
	return e, c, err
}

// connector is Connector for sessions with the program_name app. With readOnly, a listener may lead
// to a replica (ApplicationIntent=ReadOnly).
func (s *Servers) connector(server, database, credential, app string, readOnly bool) (*Connector, error) {
	e, c, err := s.lookUp(server, credential)
	if err != nil {
		return nil, err
	}
	params, err := s.params(e.String(), database)
	if err != nil {
		return nil, err
	}
	params.AppName, params.ReadOnlyIntent = app, readOnly
	encryption, dialer := s.encryptionOf(e), boundDialer{s.cfg.Dialer, c, e}
	var connector *Connector
	switch c.Kind {
	case KindSQLLogin, KindWindows, KindWindowsNTLM:
		params.User = c.User
		if c.Secret != "" || c.password != nil {
			if params.Password, err = c.secret(); err != nil {
				return nil, err
			}
		}
		c.authenticate(&params, runtime.GOOS)
		connector = DSN{Params: params, Encryption: encryption}.Connector(dialer)
	default:
		inner, err := s.entra(withoutTLS(params), c)
		if err != nil {
			return nil, err
		}
		connector = wrapConnector(inner, &encryption, dialer)
	}
	connector.limit, connector.onLogin = s.cfg.LoginTimeout, s.cfg.OnLogin
	// A session of a pool answers many small queries.
	connector.guard = guardConfig{limits: tdsguard.Limits{MessageBytes: s.cfg.Limits.MessageBytes}, rows: tdsguard.OwnRows}
	return connector, nil
}

// entra returns the driver's connector for a credential of Microsoft Entra ID.
func (s *Servers) entra(params msdsn.Config, c Credential) (*mssqldb.Connector, error) {
	if s.cfg.Entra == nil {
		return nil, credentialError(c.Name, fmt.Errorf("this agent does not support %s", c.Kind))
	}
	login := EntraLogin{Params: params, Kind: c.Kind, User: c.User}
	if c.Secret != "" {
		var err error
		if login.Secret, err = c.secret(); err != nil {
			return nil, err
		}
	}
	inner, err := s.cfg.Entra(login)
	if err != nil {
		return nil, credentialError(c.Name, err)
	}
	return inner, nil
}

// params returns the driver's settings for a database, without a login. server is the text of an
// endpoint.
func (s *Servers) params(server, database string) (msdsn.Config, error) {
	s.mu.Lock()
	parsed, known := s.parsed[server]
	s.mu.Unlock()
	if !known {
		var err error
		if parsed, err = msdsn.Parse("server=" + server); err != nil {
			return msdsn.Config{}, &targets.ConfigError{Subject: fmt.Sprintf("server name %q", server), Err: err}
		}
		s.mu.Lock()
		if len(s.parsed) >= maxParsed {
			clear(s.parsed)
		}
		s.parsed[server] = parsed
		s.mu.Unlock()
	}
	params := parsed
	params.Parameters, params.ProtocolParameters = maps.Clone(parsed.Parameters), maps.Clone(parsed.ProtocolParameters)
	activity := uuid.New() // names the connection in traces of the server, as the driver's parser does
	params.ActivityID = activity[:]
	params.Host = bareHost(params.Host)
	params.Database = database
	params.DialTimeout = -1 // the limit of the connector covers dialing
	params.ConnTimeout = 0  // a limit would end every statement that is silent longer
	params.DisableRetry = true
	return params, nil
}
