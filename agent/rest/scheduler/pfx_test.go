package scheduler_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// pfx returns a PFX in DER.
func pfx(t *testing.T, encoder *pkcs12.Encoder, password string) []byte {
	t.Helper()
	text, _ := certificate(t, encoder, password, time.Now().AddDate(1, 0, 0))
	data, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return data
}

// TestHostilePFX: whoever puts a job chooses how often the passwords of its PFX are hashed.
func TestHostilePFX(t *testing.T) {
	most := pfx(t, pkcs12.Modern2023.WithIterations(scheduler.MaxIterations/3), "p")
	require.NoError(t, scheduler.DecodePFX(most, "p"))
	many := pfx(t, pkcs12.Modern2023.WithIterations(scheduler.MaxIterations/3+1), "p")
	require.ErrorContains(t, scheduler.DecodePFX(many, "p"), "iterations")

	// One of the counts of a good file becomes 2^23-1.
	good, count := pfx(t, pkcs12.Modern2023.WithIterations(300_000), "p"), []byte{2, 3, 0x04, 0x93, 0xe0}
	require.Equal(t, 3, bytes.Count(good, count))
	at := 0
	for range 3 {
		at += bytes.Index(good[at:], count)
		changed := bytes.Clone(good)
		copy(changed[at:], []byte{2, 3, 0x7f, 0xff, 0xff})
		require.ErrorContains(t, scheduler.DecodePFX(changed, "p"), "iterations")
		at += len(count)
	}
	for _, encoder := range []*pkcs12.Encoder{pkcs12.Modern2023, pkcs12.Modern2026, pkcs12.LegacyDES, pkcs12.LegacyRC2, pkcs12.Legacy} {
		data := pfx(t, encoder, "p")
		require.NoError(t, scheduler.DecodePFX(data, "p"))
		require.Error(t, scheduler.DecodePFX(data, "q"))
		require.Error(t, scheduler.DecodePFX(data[:len(data)-1], "p"))
	}
	decode := func(text string) error { return scheduler.DecodePFX([]byte(text), "p") }
	bounds.Check(t, bounds.Cases(map[string]string{
		"the most iterations":       string(most),
		"too many iterations":       string(many),
		"constructed in each other": bounds.Repeat("\x30\x84\x00\x00\xff\xff", 10_000),
		"octet strings":             bounds.Repeat("\x04\x00", 30_000),
		"too long":                  strings.Repeat("\x04\x00", 1<<20),
	}, decode))
	bounds.Check(t, bounds.Cases(map[string]string{
		"a long key":         longKey(t, bounds.Size(60_000)),
		"a key at the limit": longKey(t, bounds.Size(7_900)),
	}, func(text string) error { return scheduler.DecodePFX([]byte(text), "") }))
}

// An encrypted part hides how often the password of a key in it is hashed: such a key is refused
// before anything is derived for it, whatever stands beside it.
func TestHiddenPFXKeys(t *testing.T) {
	certificate, key := partsOf(t, pfx(t, pkcs12.Modern2023, "p"))
	require.NoError(t, scheduler.DecodePFX(joined(t, certificate, key), "p"))
	open := content(t, oidData, marshal(t, marshal(t, []any{}))) // a part without bags
	hidden := encryptedPart(t, "p", []any{shroudedKey(math.MaxInt64)})
	watch := time.AfterFunc(time.Minute, func() { panic("a hidden key is derived") })
	defer watch.Stop()
	for name, parts := range map[string][]asn1.RawValue{
		"only a hidden key":                   {hidden},
		"beside certificates":                 {certificate, hidden},
		"beside a part that is not encrypted": {open, hidden},
		"before a part that is not encrypted": {hidden, open},
		"beside a key":                        {key, hidden},
		"before a key":                        {hidden, key},
	} {
		require.Error(t, scheduler.DecodePFX(joined(t, parts...), "p"), name)
	}
	// The test makes such parts as the library reads them: a key with few iterations is found, and
	// what is wrong is the key.
	_, _, _, err := pkcs12.DecodeChain(joined(t, encryptedPart(t, "", []any{shroudedKey(1)})), "")
	require.ErrorContains(t, err, "error decrypting PKCS#8 shrouded key bag")
}

// The structures of PKCS #12 (RFC 7292, RFC 8018) as far as the test makes them.
type (
	part struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}
	bag struct {
		ID    asn1.ObjectIdentifier
		Value any `asn1:"tag:0,explicit"`
	}
	algorithm struct {
		ID         asn1.ObjectIdentifier
		Parameters any
	}
	derivation struct {
		Salt       []byte
		Iterations int64
		Function   algorithm
	}
	schemes  struct{ Derivation, Cipher algorithm }
	shrouded struct {
		Algorithm algorithm
		Data      []byte
	}
)

var oidData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}

// pbes2 is PBES2 with PBKDF2, HMAC with SHA-256, and AES-256 (RFC 8018, appendix A).
func pbes2(iterations int64) algorithm {
	return algorithm{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}, schemes{
		algorithm{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}, derivation{
			make([]byte, 8), iterations, algorithm{asn1.ObjectIdentifier{1, 2, 840, 113549, 2, 9}, asn1.NullRawValue},
		}},
		algorithm{asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 1, 42}, make([]byte, aes.BlockSize)},
	}}
}

// shroudedKey is a bag with a key whose password is hashed so often.
func shroudedKey(iterations int64) bag {
	return bag{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2}, shrouded{pbes2(iterations), make([]byte, 2*aes.BlockSize)}}
}

// encryptedPart is a part with bags that a password opens.
func encryptedPart(t *testing.T, password string, bags []any) asn1.RawValue {
	return content(t, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 6}, marshal(t, struct {
		Version int
		Content struct {
			Type      asn1.ObjectIdentifier
			Algorithm algorithm
			Content   []byte `asn1:"tag:0"`
		}
	}{Content: struct {
		Type      asn1.ObjectIdentifier
		Algorithm algorithm
		Content   []byte `asn1:"tag:0"`
	}{oidData, pbes2(1), encrypted(t, password, marshal(t, bags))}}))
}

// encrypted is a text encrypted by pbes2(1).
func encrypted(t *testing.T, password string, plain []byte) []byte {
	padding := aes.BlockSize - len(plain)%aes.BlockSize
	plain = append(plain, bytes.Repeat([]byte{byte(padding)}, padding)...)
	key, err := pbkdf2.Key(sha256.New, password, make([]byte, 8), 1, 32)
	require.NoError(t, err)
	block, err := aes.NewCipher(key)
	require.NoError(t, err)
	cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(plain, plain)
	return plain
}

// longKey is a PFX with an RSA key whose modulus has so many bytes.
func longKey(t *testing.T, length int) string {
	n := new(big.Int).Lsh(big.NewInt(1), uint(8*length))
	n.Sub(n, big.NewInt(1))
	small := big.NewInt(3)
	key := marshal(t, struct {
		Version                   int
		N                         *big.Int
		E                         int
		D, P, Q, Dp, Dq, Qinverse *big.Int
	}{0, n, 65537, small, small, small, small, small, small})
	pkcs8 := marshal(t, struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{0, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}, key})
	bags := []any{bag{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 2}, shrouded{pbes2(1), encrypted(t, "", pkcs8)}}}
	return string(joined(t, content(t, oidData, marshal(t, marshal(t, bags)))))
}

// content is a part of a type.
func content(t *testing.T, kind asn1.ObjectIdentifier, der []byte) asn1.RawValue {
	return asn1.RawValue{FullBytes: marshal(t, part{kind, asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: der}})}
}

// file is a PFX whose MAC is not looked at.
type file struct {
	Version int
	Safe    part
	MAC     asn1.RawValue `asn1:"optional"`
}

// partsOf returns the two parts of a PFX.
func partsOf(t *testing.T, der []byte) (certificate, key asn1.RawValue) {
	var f file
	var safe []byte
	var parts []asn1.RawValue
	for _, step := range []struct {
		der func() []byte
		to  any
	}{{func() []byte { return der }, &f}, {func() []byte { return f.Safe.Content.Bytes }, &safe}, {func() []byte { return safe }, &parts}} {
		_, err := asn1.Unmarshal(step.der(), step.to)
		require.NoError(t, err)
	}
	require.Len(t, parts, 2)
	return parts[0], parts[1]
}

// joined is a PFX of parts, without a MAC.
func joined(t *testing.T, parts ...asn1.RawValue) []byte {
	var f struct {
		Version int
		Safe    asn1.RawValue
	}
	f.Version, f.Safe = 3, content(t, oidData, marshal(t, marshal(t, parts)))
	return marshal(t, f)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	require.NoError(t, err)
	return der
}

// FuzzPFX: no file makes the front panic, or takes more memory than its length explains.
func FuzzPFX(f *testing.F) {
	f.Add([]byte("\x30\x00"), "p")
	f.Fuzz(func(t *testing.T, data []byte, password string) {
		bounds.Allocations(t, len(data)+len(password), 1<<20, 400, func() { _ = scheduler.DecodePFX(data, password) })
	})
}
