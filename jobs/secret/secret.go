package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hpke"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxLength is the longest value in bytes: enough for a bundle of certificates with its key.
const MaxLength = 64 << 10

// The errors of Open and Reseal.
var (
	// ErrNoKey means that the secret is sealed for none of the given keys.
	ErrNoKey = errors.New("the secret is not sealed for any of the keys at hand")
	// ErrBroken means that the sealed secret was changed, or was sealed for another database, name
	// or version, or for other hosts.
	ErrBroken = errors.New("the sealed secret was changed, or belongs to another database, name or version, or to other hosts")
)

// Place is what a sealed secret is bound to.
type Place struct {
	// Database identifies the control database.
	Database string
	// Owner is empty for the secrets that authors set, else OwnerREST or OwnerCredential.
	Owner string
	// Name is the NAME of $(secret.NAME).
	Name string
	// Version counts the values of the name, from 1.
	Version int
	// Hosts are the patterns of the hosts that may receive the value; none means any host. They are
	// stored in clear, but a change of them prevents the opening of the secret.
	Hosts []string
}

// The owners of secrets that authors do not set.
const (
	// OwnerREST owns the secrets of actions that REST stores; RESTName gives their names.
	OwnerREST = "rest"
	// OwnerCredential owns the passwords of credentials, whose names they have.
	OwnerCredential = "credential"
)

// restPrefix begins the names of secrets of OwnerREST, and of no others.
const restPrefix = "rest-"

// RESTName returns a new name for a secret of OwnerREST.
func RESTName(random io.Reader) (string, error) {
	id := make([]byte, 16)
	if _, err := io.ReadFull(random, id); err != nil {
		return "", err
	}
	return restPrefix + hex.EncodeToString(id), nil
}

// OwnerOf returns the owner of the secret that an action names $(secret.NAME).
func OwnerOf(name string) string {
	id, ok := strings.CutPrefix(strings.ToLower(name), restPrefix)
	if _, err := hex.DecodeString(id); ok && err == nil && len(id) == 32 {
		return OwnerREST
	}
	return ""
}

// bytes returns the place in an unambiguous form.
func (p Place) bytes(use string) []byte {
	var b []byte
	for _, s := range []string{use, p.Database, p.Owner, p.Name} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(p.Version))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Hosts)))
	for _, host := range p.Hosts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(host)))
		b = append(b, host...)
	}
	return b
}

// The uses of a place.
const (
	useValue = "jobagent secret value 1"
	useKey   = "jobagent secret data key 1"
)

// Sealed is a sealed secret. It holds nothing in clear but the IDs of its recipients.
type Sealed struct {
	// Nonce and Ciphertext are the encrypted value; Ciphertext ends with the tag.
	Nonce, Ciphertext []byte
	// Keys are the data key, sealed for each recipient.
	Keys []SealedKey
}

// SealedKey is a data key that is sealed for one recipient.
type SealedKey struct {
	// ID is the recipient's PublicKey.ID.
	ID string
	// Data is HPKE's encapsulated key, followed by its ciphertext.
	Data []byte
}

const (
	dataKeyLength = 32
	nonceLength   = 12
)

// Seal seals a value for recipients, at least one. Data key and nonce come from random, which is
// crypto/rand.Reader but in tests; HPKE uses the program's own source.
func Seal(random io.Reader, place Place, value string, recipients []PublicKey) (Sealed, error) {
	switch {
	case len(recipients) == 0:
		return Sealed{}, errors.New("no key to seal the secret for")
	case value == "":
		return Sealed{}, errors.New("the secret is empty")
	case len(value) > MaxLength:
		return Sealed{}, fmt.Errorf("the secret has %d bytes: want at most %d", len(value), MaxLength)
	}
	material := make([]byte, dataKeyLength+nonceLength)
	if _, err := io.ReadFull(random, material); err != nil {
		return Sealed{}, err
	}
	dataKey, nonce := material[:dataKeyLength], material[dataKeyLength:]
	aead, err := newAEAD(dataKey)
	if err != nil {
		return Sealed{}, err
	}
	s := Sealed{Nonce: nonce, Ciphertext: aead.Seal(nil, nonce, []byte(value), place.bytes(useValue))}
	s.Keys, err = sealKey(place, dataKey, recipients)
	return s, err
}

// newAEAD returns AES-256-GCM.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func sealKey(place Place, dataKey []byte, recipients []PublicKey) ([]SealedKey, error) {
	keys := make([]SealedKey, 0, len(recipients))
	for _, r := range recipients {
		data, err := hpke.Seal(r.key, hpke.HKDFSHA256(), hpke.AES256GCM(), place.bytes(useKey), dataKey)
		if err != nil {
			return nil, err
		}
		keys = append(keys, SealedKey{ID: r.ID(), Data: data})
	}
	return keys, nil
}

// dataKey opens the data key with one of the given keys.
func (s Sealed) dataKey(place Place, keys []PrivateKey) ([]byte, error) {
	err := ErrNoKey
	for _, k := range keys {
		i := slices.IndexFunc(s.Keys, func(sealed SealedKey) bool { return sealed.ID == k.Public().ID() })
		if i < 0 {
			continue
		}
		dataKey, openErr := hpke.Open(k.key, hpke.HKDFSHA256(), hpke.AES256GCM(), place.bytes(useKey), s.Keys[i].Data)
		if openErr == nil && len(dataKey) == dataKeyLength {
			return dataKey, nil
		}
		err = ErrBroken
	}
	return nil, err
}

// Open returns the value of a secret that is sealed for one of the given keys at this place. The
// error is ErrNoKey or ErrBroken.
func (s Sealed) Open(place Place, keys []PrivateKey) (string, error) {
	_, value, err := s.open(place, keys)
	return value, err
}

func (s Sealed) open(place Place, keys []PrivateKey) (dataKey []byte, value string, err error) {
	if dataKey, err = s.dataKey(place, keys); err != nil {
		return nil, "", err
	}
	aead, err := newAEAD(dataKey)
	if err != nil {
		return nil, "", err
	}
	if len(s.Nonce) != nonceLength {
		return nil, "", ErrBroken
	}
	text, err := aead.Open(nil, s.Nonce, s.Ciphertext, place.bytes(useValue))
	if err != nil {
		return nil, "", ErrBroken
	}
	return dataKey, string(text), nil
}

// Reseal returns the data key sealed for recipients, and leaves the value as it is. The errors are
// those of Open.
func (s Sealed) Reseal(place Place, keys []PrivateKey, recipients []PublicKey) ([]SealedKey, error) {
	dataKey, _, err := s.open(place, keys)
	if err != nil {
		return nil, err
	}
	return sealKey(place, dataKey, recipients)
}

// sealedJSON is the form of a sealed secret in arguments of procedures. T-SQL reads hexadecimal
// digits without further functions.
type sealedJSON struct {
	Version    int       `json:"version,omitempty"`
	Hosts      []string  `json:"hosts,omitempty"`
	Nonce      string    `json:"nonce,omitempty"`
	Ciphertext string    `json:"ciphertext,omitempty"`
	Keys       []keyJSON `json:"keys"`
}

type keyJSON struct {
	ID   string `json:"id"`
	Data string `json:"data"`
}

// JSON returns the argument @sealed of jobs.sp_set_secret. Version and hosts are those of the
// place.
func (s Sealed) JSON(version int, hosts ...string) string {
	return marshal(sealedJSON{
		Version: version, Hosts: hosts, Nonce: hex.EncodeToString(s.Nonce), Ciphertext: hex.EncodeToString(s.Ciphertext),
		Keys: keysJSON(s.Keys),
	})
}

// KeysJSON returns data keys as the argument @keys of jobs_internal.reseal_secret.
func KeysJSON(keys []SealedKey) string { return marshal(keysJSON(keys)) }

func keysJSON(keys []SealedKey) []keyJSON {
	list := make([]keyJSON, 0, len(keys))
	for _, k := range keys {
		list = append(list, keyJSON{k.ID, hex.EncodeToString(k.Data)})
	}
	return list
}

// marshal returns a value without any part that cannot be marshaled as JSON.
func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
