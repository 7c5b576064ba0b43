package outbound

import (
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

// Keys and certificates of secrets take a bounded time and memory.
func TestHostilePEM(t *testing.T) { //nolint:paralleltest // it measures
	const limit = 64 << 10 // of a secret (jobs_internal.store_secret)
	parse := func(text string) error {
		_, err := thumbprintOf(text)
		if _, pairErr := new(pairCache).parse(text, text); pairErr == nil {
			return nil
		}
		if _, keyErr := parsePrivateKey(text); keyErr != nil {
			return keyErr
		}
		return err
	}
	block := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	marshal := func(v any) []byte {
		der, err := asn1.Marshal(v)
		require.NoError(t, err)
		return der
	}
	ones := func(bytes int) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), uint(8*bounds.Size(bytes)))
		return n.Sub(n, big.NewInt(1))
	}
	type rsaKey struct {
		Version                   int
		N                         *big.Int
		E                         int
		D, P, Q, Dp, Dq, Qinverse *big.Int
	}
	p := ones(5_000)
	n := new(big.Int).Mul(p, p)
	pkcs1 := marshal(rsaKey{0, n, 65537, n, p, p, p, p, p})
	long := ones(45_000)
	pkcs8 := marshal(struct {
		Version   int
		Algorithm pkix.AlgorithmIdentifier
		Key       []byte
	}{0, pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}, pkcs1})
	small := big.NewInt(3)
	inLimit := marshal(rsaKey{0, ones(8092), 65537, small, small, small, small, small, small})
	bounds.Check(t, bounds.Cases(map[string]string{
		"dashes":                    bounds.Repeat("-", limit),
		"begins":                    bounds.Repeat("-----BEGIN A-----\n", limit/18),
		"begins and ends":           bounds.Repeat("-----BEGIN A-----\n-----END B-----\n", limit/34),
		"ends":                      bounds.Repeat("-----END A-----\n", limit/16),
		"empty blocks":              bounds.Repeat("-----BEGIN A-----\n-----END A-----\n", limit/34),
		"blocks":                    bounds.Repeat("-----BEGIN A-----\nMAA=\n-----END A-----\n", limit/39),
		"headers":                   "-----BEGIN A-----\n" + bounds.Repeat("a: b\n", limit/5-10) + "\n-----END A-----\n",
		"a long line":               "-----BEGIN A-----\n" + bounds.Repeat("A", limit-100) + "\n-----END A-----\n",
		"lines":                     "-----BEGIN A-----\n" + bounds.Repeat("\n", limit-100) + "\n-----END A-----\n",
		"an RSA key":                block("RSA PRIVATE KEY", pkcs1),
		"an RSA key, PKCS 8":        block("PRIVATE KEY", pkcs8),
		"a modulus at the limit":    block("RSA PRIVATE KEY", inLimit),
		"moduli at the limit":       strings.Repeat(block("RSA PRIVATE KEY", inLimit), 5),
		"a long modulus":            block("RSA PRIVATE KEY", marshal(rsaKey{0, long, 65537, small, small, small, small, small, small})),
		"a long private exponent":   block("RSA PRIVATE KEY", marshal(rsaKey{0, big.NewInt(15), 3, long, small, big.NewInt(5), small, small, small})),
		"constructed in each other": block("PRIVATE KEY", []byte(bounds.Repeat("\x30\x84\x00\x00\xff\xff", 8_000))),
	}, parse))
}

// Private keys are refused by their length, certificates beside them are not.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	most := new(big.Int).Lsh(big.NewInt(1), maxKeyBits-1)
	require.False(t, isLong(&rsa.PrivateKey{PublicKey: rsa.PublicKey{N: most}}))
	require.True(t, isLong(&rsa.PrivateKey{PublicKey: rsa.PublicKey{N: most.Lsh(most, 1)}}))
	block := func(kind string, length int) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: make([]byte, length)}))
	}
	require.False(t, hasLongKey(block("CERTIFICATE", maxKeyBytes+1)+block("PRIVATE KEY", maxKeyBytes)))
	for _, text := range []string{block("PRIVATE KEY", maxKeyBytes+1), block("CERTIFICATE", 10) + block("RSA PRIVATE KEY", maxKeyBytes+1)} {
		_, err := parsePrivateKey(text)
		require.ErrorIs(t, err, errLongKey)
		_, err = new(pairCache).parse(text, text)
		require.ErrorIs(t, err, errLongKey)
	}
}
