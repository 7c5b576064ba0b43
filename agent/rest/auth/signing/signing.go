// Package signing has the keys with which the REST front signs tokens, and their public halves as a
// JSON Web Key Set (RFC 7517).
package signing

import (
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"

	"github.com/golang-jwt/jwt/v5"

	"github.com/jobagent/jobagent/targets/secretref"
)

// minBits is the least size of an RSA key (NIST SP 800-131A; RFC 7518, 3.3).
const minBits = 2048

// Keys are the keys of one issuer: the first one signs, all verify. Several instances of the front
// have the same keys. A key is replaced in three steps: add the new one behind the old one, so that
// all verifiers know it; exchange the two; remove the old one when its last token has expired.
type Keys struct {
	keys []*rsa.PrivateKey
	ids  []string
}

// errKey does not repeat the text.
var errKey = errors.New("invalid key: want the PEM text of an RSA private key")

// Read reads the keys that references name: PEM texts of RSA private keys.
func Read(references []string) (*Keys, error) {
	k := &Keys{}
	var errs []error
	for i, ref := range references {
		text, err := secretref.Read(ref)
		if err == nil {
			err = k.Add(text)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("signing_keys[%d]: %w", i, err))
		}
	}
	return k, errors.Join(errs...)
}

// Add adds the PEM text of a private key.
func (k *Keys) Add(text string) error {
	key, err := parse(text)
	if err != nil {
		return err
	}
	return k.AddKey(key)
}

// AddKey adds a private key.
func (k *Keys) AddKey(key *rsa.PrivateKey) error {
	if bits := key.N.BitLen(); bits < minBits {
		return fmt.Errorf("invalid key: it has %d bits, want at least %d", bits, minBits)
	}
	id := ID(&key.PublicKey)
	for _, other := range k.ids {
		if other == id {
			return errors.New("invalid key: it is there twice")
		}
	}
	k.keys, k.ids = append(k.keys, key), append(k.ids, id)
	return nil
}

// parse parses the first RSA private key in a PEM text.
func parse(text string) (*rsa.PrivateKey, error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errKey
		}
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(*rsa.PrivateKey); ok {
				return key, nil
			}
		}
	}
}

// ID returns the ID of a key: its thumbprint of RFC 7638. Processes that have the same key give it
// the same ID.
func ID(key *rsa.PublicKey) string {
	n, e := members(key)
	sum := sha256.Sum256(fmt.Appendf(nil, `{"e":%q,"kty":"RSA","n":%q}`, e, n))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// members returns the members n and e of a JSON Web Key.
func members(key *rsa.PublicKey) (n, e string) {
	return base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())
}

// Len returns the number of keys. A nil *Keys has none.
func (k *Keys) Len() int {
	if k == nil {
		return 0
	}
	return len(k.keys)
}

// Sign returns a token with these claims, signed with RS256 by the first key.
func (k *Keys) Sign(claims jwt.Claims) (string, error) {
	if k.Len() == 0 {
		return "", errors.New("sign a token: the issuer has no key")
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = k.ids[0]
	text, err := token.SignedString(k.keys[0])
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text, nil
}

// Public returns the public key with an ID, or nil.
func (k *Keys) Public(id string) *rsa.PublicKey {
	if k == nil {
		return nil
	}
	for i, one := range k.ids {
		if one == id {
			return &k.keys[i].PublicKey
		}
	}
	return nil
}

// Set is a JSON Web Key Set.
type Set struct {
	Keys []Key `json:"keys"`
}

// Key is a public RSA key of a Set.
type Key struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	ID        string `json:"kid"`
	N         string `json:"n"`
	E         string `json:"e"`
	// Value is the key as PEM text. SAP's libraries of the first generation read it.
	Value string `json:"value,omitempty"`
}

// Set returns the public halves of all keys.
func (k *Keys) Set() Set {
	set := Set{Keys: []Key{}}
	if k == nil {
		return set
	}
	for i, key := range k.keys {
		n, e := members(&key.PublicKey)
		one := Key{KeyType: "RSA", Use: "sig", Algorithm: jwt.SigningMethodRS256.Alg(), ID: k.ids[i], N: n, E: e}
		if der, err := x509.MarshalPKIXPublicKey(&key.PublicKey); err == nil {
			one.Value = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
		}
		set.Keys = append(set.Keys, one)
	}
	return set
}
