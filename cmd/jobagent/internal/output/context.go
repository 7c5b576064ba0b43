package output

// Context is a connection by name. It never has a password.
type Context struct {
	Name              string             `json:"name"`
	Current           bool               `json:"current"` // commands use it by default
	Server            string             `json:"server"`
	Database          string             `json:"database"`
	Auth              string             `json:"auth,omitempty"` // absent: a login of the server
	User              string             `json:"user,omitempty"`
	Password          string             `json:"password"`          // where it is: keyring, prompt, env:NAME, file:PATH or none
	Encrypt           string             `json:"encrypt,omitempty"` // absent: true
	CertificateSHA256 string             `json:"certificate_sha256,omitempty"`
	Parameters        []ContextParameter `json:"parameters,omitempty"` // further ones of the connection string
	Config            string             `json:"config,omitempty"`     // path of the configuration file
	Production        bool               `json:"production"`
	Color             string             `json:"color,omitempty"` // absent: none
}

// ContextParameter is a parameter of a connection string.
type ContextParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ContextName is the result of a command that changes a context.
type ContextName struct {
	Name string `json:"name"`
}

// EffectiveConnection says which control database commands use, and what chose it.
type EffectiveConnection struct {
	Source       string `json:"source"`            // --dsn, --context, JOBAGENT_DSN, JOBAGENT_CONTEXT, the configuration file, the current context, or none
	Context      string `json:"context,omitempty"` // absent: no context chose it
	Server       string `json:"server,omitempty"`
	Database     string `json:"database,omitempty"`
	User         string `json:"user,omitempty"`
	Production   bool   `json:"production"`
	Config       string `json:"config,omitempty"`        // path of the configuration file
	ConfigSource string `json:"config_source,omitempty"` // what names that file
}

// ContextTest is the result of a connection.
type ContextTest struct {
	Context       string   `json:"context,omitempty"` // absent: the connection has none
	Source        string   `json:"source"`
	Server        string   `json:"server"`
	Database      string   `json:"database"`
	ServerVersion string   `json:"server_version"`
	Edition       string   `json:"edition"`
	SchemaVersion string   `json:"schema_version"` // supported, hidden, not installed, or what is wrong
	Login         string   `json:"login"`
	User          string   `json:"user"`
	Roles         []string `json:"roles"`
	ConnectMS     float64  `json:"connect_ms"` // the first connection, with its login
	RoundTripMS   float64  `json:"round_trip_ms"`
}
