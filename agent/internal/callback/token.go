// Package callback creates and parses the tokens and URLs of callbacks. The agent creates them;
// package callbacks reads them.
package callback

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
)

// tokenBytes is the length of a token: 256 bits.
const tokenBytes = 32

// PathPrefix is the path of the receiver below the public URL.
const PathPrefix = "/callbacks/"

// NewToken returns a new token. It is a secret: the control database gets its hash only.
func NewToken() string {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails
	return base64.RawURLEncoding.EncodeToString(raw)
}

// URL returns the URL at which a token's report is received. publicURL is the address of the
// receiver as seen from outside.
func URL(publicURL, token string) string {
	return strings.TrimSuffix(publicURL, "/") + PathPrefix + token
}

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(raw) == tokenBytes
}
