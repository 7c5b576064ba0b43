package output

import "time"

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

// Secret is a sealed secret. Its fields are those of the view jobs.secrets.
type Secret struct {
	Name        string     `json:"secret_name"`
	Version     int        `json:"version"`
	Hosts       []string   `json:"hosts"`        // patterns of the hosts that may receive it; null: any host
	Keys        int        `json:"keys"`         // active keys that can open it
	MissingKeys int        `json:"missing_keys"` // active keys that cannot
	CreatedTime *time.Time `json:"created_time,omitempty"`
	UpdatedTime *time.Time `json:"updated_time,omitempty"`
	UpdatedBy   string     `json:"updated_by"`
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
