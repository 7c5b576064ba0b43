package signing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

// The thumbprint of the example in RFC 7638, 3.1.
func TestThumbprint(t *testing.T) {
	t.Parallel()
	const example = `{"kty":"RSA","e":"AQAB","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}`
	var k Key
	require.NoError(t, json.Unmarshal([]byte(example), &k))
	n, err := jwt.NewParser().DecodeSegment(k.N)
	require.NoError(t, err)
	key := &rsa.PublicKey{E: 65537}
	key.N = new(big.Int).SetBytes(n)
	require.Equal(t, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", ID(key))
}

func TestKeys(t *testing.T) {
	t.Parallel()
	one, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(one)
	require.NoError(t, err)
	ecText, err := x509.MarshalPKCS8PrivateKey(ec)
	require.NoError(t, err)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}

	var k Keys
	require.NoError(t, k.Add(encode("PRIVATE KEY", pkcs8)))
	require.ErrorContains(t, k.Add(encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(one))), "twice")
	require.ErrorContains(t, k.Add(encode("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(small))), "1024 bits")
	for _, wrong := range []string{"hunter2", "", encode("PRIVATE KEY", ecText), encode("PRIVATE KEY", []byte("hunter2"))} {
		err := k.Add(wrong)
		require.ErrorIs(t, err, errKey)
		require.NotContains(t, err.Error(), "hunter2")
	}
	require.Equal(t, 1, k.Len())
	text, err := k.Sign(jwt.MapClaims{"sub": "s"})
	require.NoError(t, err)
	token, err := jwt.Parse(text, func(token *jwt.Token) (any, error) {
		id, _ := token.Header["kid"].(string)
		return k.Public(id), nil
	}, jwt.WithValidMethods([]string{"RS256"}))
	require.NoError(t, err)
	require.True(t, token.Valid)
	require.Nil(t, k.Public("other"))

	var none *Keys
	require.Zero(t, none.Len())
	require.Empty(t, none.Set().Keys)
	require.Nil(t, none.Public(""))
	_, err = none.Sign(jwt.MapClaims{})
	require.Error(t, err)

	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, []byte(encode("PRIVATE KEY", pkcs8)), 0o600))
	read, err := Read([]string{"file:" + file})
	require.NoError(t, err)
	require.Equal(t, k.Set(), read.Set())
	_, err = Read([]string{"file:" + file, "file:" + file + ".none", strings.Repeat("x", 10)})
	require.ErrorContains(t, err, "signing_keys[1]")
	require.ErrorContains(t, err, "signing_keys[2]")
}
