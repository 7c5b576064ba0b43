// Package tokenfile has the static tokens of the REST front: their form, and the file that keeps
// their hashes. The command `jobagent token` writes the file; each front reads it.
//
// A token is jbt_<id>_<secret>. The secret is 32 random bytes in base64url. Only its SHA-256 is
// stored: a secret of 256 random bits cannot be guessed, so a slow hash would add nothing.
package tokenfile

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Prefix begins each static token. It is known to scanners that look for secrets in repositories.
const Prefix = "jbt_"

// secretBytes is the length of a secret.
const secretBytes = 32

// Token is what is stored of a static token.
type Token struct {
	// ID is the second part of the token: 1 to 32 lower-case letters and digits.
	ID string `json:"id"`
	// Name is for people.
	Name string `json:"name"`
	// SHA256 is the SHA-256 of the token's third part, in hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Role and Scope are a grant to this token; see auth.Grant. Both are empty if the token is
	// named by grants of the configuration.
	Role  string `json:"role,omitempty"`
	Scope string `json:"scope,omitempty"`
	// Created and Expires are instants in UTC. Zero means unknown, and that the token does not
	// expire.
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// idForm is the form of an ID.
var idForm = regexp.MustCompile(`^[a-z0-9]{1,32}$`)

// Check returns all faults of a stored token, without the faults of its grant.
func (t Token) Check() error { return errors.Join(t.faults()...) }

// faults returns all faults of a stored token.
func (t Token) faults() (errs []error) {
	if !idForm.MatchString(t.ID) {
		errs = append(errs, fmt.Errorf("invalid id %q: want 1 to 32 lower-case letters and digits", t.ID))
	}
	if sum, err := hex.DecodeString(t.SHA256); err != nil || len(sum) != sha256.Size {
		// The text is not repeated: it may be the secret itself.
		errs = append(errs, errors.New("invalid sha256: want the 64 hexadecimal digits of the SHA-256 of the token's secret part"))
	}
	if (t.Role == "") != (t.Scope == "") {
		errs = append(errs, errors.New("role and scope belong together: want both, or neither"))
	}
	return errs
}

// Expired reports whether the token has expired.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Matches reports whether secret is the token's. It takes the same time for each secret.
func (t Token) Matches(secret string) bool {
	want, err := hex.DecodeString(t.SHA256)
	got := sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(got[:], want) == 1 && err == nil
}

// New returns a new token, and the text that its owner gets. The text is not stored anywhere.
func New() (t Token, text string) {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails
	id := make([]byte, 8)
	_, _ = rand.Read(id)
	encoded := base64.RawURLEncoding.EncodeToString(secret)
	sum := sha256.Sum256([]byte(encoded))
	t = Token{ID: hex.EncodeToString(id), SHA256: hex.EncodeToString(sum[:])}
	return t, Prefix + t.ID + "_" + encoded
}

// Parse splits the text of a token. It reports false for every text that New cannot have returned.
func Parse(text string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, Prefix)
	if !ok {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_") // the secret may hold _, the ID does not
	if !ok || !idForm.MatchString(id) || len(secret) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return "", "", false
	}
	if _, err := base64.RawURLEncoding.Strict().DecodeString(secret); err != nil {
		return "", "", false
	}
	return id, secret, true
}
