package secret

import (
	"crypto/ecdh"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Prefixes of keys as text.
const (
	publicPrefix  = "jobagent-public-1:"
	privatePrefix = "jobagent-private-1:"
)

// The errors of texts that are not keys. They do not repeat the text, which may be a secret.
var (
	ErrPublicKey  = errors.New("invalid public key: want the text of jobagent key generate, " + publicPrefix + "…")
	ErrPrivateKey = errors.New("invalid private key: want the file of jobagent key generate, " + privatePrefix + "…")
)

// PublicKey is a key for which secrets are sealed.
type PublicKey struct{ key hpke.PublicKey }

// PrivateKey is a key that opens secrets.
type PrivateKey struct{ key hpke.PrivateKey }

// GenerateKey returns a new key. Randomness comes from random, which is crypto/rand.Reader but in
// tests.
func GenerateKey(random io.Reader) (PrivateKey, error) {
	seed := make([]byte, 32)
	if _, err := io.ReadFull(random, seed); err != nil {
		return PrivateKey{}, err
	}
	return newPrivateKey(seed)
}

// newPrivateKey returns the key of 32 bytes.
func newPrivateKey(raw []byte) (PrivateKey, error) {
	key, err := hpke.DHKEM(ecdh.X25519()).NewPrivateKey(raw)
	return PrivateKey{key}, err
}

// Public returns the key's public half.
func (k PrivateKey) Public() PublicKey { return PublicKey{k.key.PublicKey()} }

// Text returns the private key as one line of text. It is a secret.
func (k PrivateKey) Text() (string, error) {
	raw, err := k.key.Bytes()
	return privatePrefix + base64.RawURLEncoding.EncodeToString(raw), err
}

// String implements fmt.Stringer, so that a key that is printed is no secret.
func (k PrivateKey) String() string { return "private key of " + k.Public().ID() }

// GoString implements fmt.GoStringer.
func (k PrivateKey) GoString() string { return k.String() }

// ParsePrivateKey reads the text of a private key; blanks around it are ignored.
func ParsePrivateKey(text string) (PrivateKey, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), privatePrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(raw) != 32 {
		return PrivateKey{}, ErrPrivateKey
	}
	k, err := newPrivateKey(raw)
	if err != nil {
		return PrivateKey{}, ErrPrivateKey
	}
	return k, nil
}

// NewPublicKey returns the public key of 32 bytes.
func NewPublicKey(raw []byte) (PublicKey, error) {
	key, err := hpke.DHKEM(ecdh.X25519()).NewPublicKey(raw)
	if err != nil {
		return PublicKey{}, ErrPublicKey
	}
	return PublicKey{key}, nil
}

// Bytes returns the 32 bytes of the key.
func (k PublicKey) Bytes() []byte { return k.key.Bytes() }

// String returns the key as one line of text.
func (k PublicKey) String() string {
	return publicPrefix + base64.RawURLEncoding.EncodeToString(k.Bytes())
}

// ID identifies the key: the first half of the SHA-256 of its bytes, as 32 hexadecimal digits in
// upper case. The control database computes the same.
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k.Bytes())
	return fmt.Sprintf("%X", sum[:16])
}
