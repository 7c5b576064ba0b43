package output

import (
	"time"

	"github.com/jobagent/jobagent/controldb/auditlog"
)

// Account is a job agent (account) of a control database.
type Account struct {
	Name        string       `json:"name"`
	Database    string       `json:"database"` // name of the control database in the configuration
	State       string       `json:"state"`    // Creating, Ready, Updating, Disabled, Faulted or Deleting; Unavailable: its database does not answer
	Implicit    bool         `json:"is_implicit"`
	SKU         string       `json:"sku"`
	Capacity    int          `json:"capacity"`
	Location    string       `json:"location,omitempty"`
	Identity    string       `json:"identity,omitempty"`
	Tags        []AccountTag `json:"tags"`
	Reason      string       `json:"reason,omitempty"` // of Disabled, Faulted and Unavailable
	DisabledBy  string       `json:"disabled_by,omitempty"`
	CreatedTime *time.Time   `json:"created_time,omitempty"`
	ChangedTime *time.Time   `json:"changed_time,omitempty"`
}

// AccountTag is a tag of an account.
type AccountTag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// AccountName names an account that was deleted.
type AccountName struct {
	Name     string `json:"name"`
	Database string `json:"database"`
	State    string `json:"state"` // Deleted, or Deleting with --no-wait
}

// AgentProbe is the answer of an agent that works.
type AgentProbe struct {
	URL    string `json:"url"`
	Answer string `json:"answer"`
}

// AuditEntry is a change that somebody made. Its fields are those of the view jobs.audit_log.
type AuditEntry struct{ auditlog.Entry }

// SecretKey is a key for which secrets are sealed. Its fields are those of the view
// jobs.secret_keys.
type SecretKey struct {
	ID          string     `json:"key_id"`
	PublicKey   string     `json:"public_key"`
	Active      bool       `json:"is_active"`
	Secrets     int        `json:"secrets"`      // secrets that it can open
	SecretsOnly int        `json:"secrets_only"` // secrets that no other active key can open
	CreatedTime *time.Time `json:"created_time,omitempty"`
	CreatedBy   string     `json:"created_by"`
	RetiredTime *time.Time `json:"retired_time,omitempty"`
	RetiredBy   string     `json:"retired_by,omitempty"`
}

// GeneratedKey is a key that was made.
type GeneratedKey struct {
	ID        string `json:"key_id"`
	PublicKey string `json:"public_key"`
	File      string `json:"file"` // of the private key
}

// RotatedKeys is the result of sealing secrets for further keys.
type RotatedKeys struct {
	Sealed  int      `json:"sealed"`  // secrets that were sealed for further keys
	Lacking []string `json:"lacking"` // secrets that an active key cannot open still
	Retired string   `json:"retired_key_id,omitempty"`
}

// StoredSecret is a secret that was set.
type StoredSecret struct {
	Name    string   `json:"secret_name"`
	Version int      `json:"version"`
	Hosts   []string `json:"hosts"` // patterns of the hosts that may receive it; null: any host
	Keys    int      `json:"keys"`  // for which it is sealed
}

// SecretName names a secret that was deleted.
type SecretName struct {
	Name string `json:"secret_name"`
}

// SettingName names a setting that was set or reset.
type SettingName struct {
	Name  string `json:"name"`
	Value *int   `json:"value"` // null: the default
}

// CreatedToken is a static token of the REST front that was made. It is shown once.
type CreatedToken struct {
	ID      string     `json:"token_id"`
	Name    string     `json:"token_name"`
	Token   string     `json:"token"` // what the client sends; it is stored nowhere
	Role    string     `json:"role,omitempty"`
	Scope   string     `json:"scope,omitempty"`
	Expires *time.Time `json:"expires_time"` // null: never
	File    string     `json:"file"`         // of the hash
}

// Token is a static token of the REST front, without its secret.
type Token struct {
	ID      string     `json:"token_id"`
	Name    string     `json:"token_name"`
	Role    string     `json:"role,omitempty"`
	Scope   string     `json:"scope,omitempty"`
	Created *time.Time `json:"created_time"`
	Expires *time.Time `json:"expires_time"` // null: never
	Expired bool       `json:"expired"`
}

// RevokedTokens are the static tokens that were revoked.
type RevokedTokens struct {
	IDs []string `json:"token_ids"`
}

// HashedSecret is the hash of a password or client secret for the configuration.
type HashedSecret struct {
	Hash   string `json:"hash"`
	Secret string `json:"secret,omitempty"` // if it was made; it is stored nowhere
}
