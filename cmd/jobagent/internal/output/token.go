package output

import "time"

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
