package hashed

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// here is an address of a client.
const here = "192.0.2.1:1"

// few is a number of iterations with which tests are fast. No configured hash may have so few.
const few = 1000

// cheap returns a hash with few iterations.
func cheap(t *testing.T, secret string, iterations int) Hash {
	t.Helper()
	salt := []byte("0123456789abcdef")
	sum, err := pbkdf2.Key(sha256.New, secret, salt, iterations, sha256.Size)
	require.NoError(t, err)
	return Hash{iterations: iterations, salt: salt, sum: sum}
}

func TestHashes(t *testing.T) {
	t.Parallel()
	text, err := OfPassword("hunter2")
	require.NoError(t, err)
	require.NotContains(t, text, "hunter2")
	h, err := Parse(text)
	require.NoError(t, err)
	require.Equal(t, Iterations, h.iterations)
	require.True(t, h.matches("hunter2"))
	require.False(t, h.matches("hunter3"))

	const random = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	text, err = OfRandom(random)
	require.NoError(t, err)
	h, err = Parse(text)
	require.NoError(t, err)
	require.True(t, h.matches(random))
	require.False(t, h.matches(""))
	_, err = OfRandom("short")
	require.ErrorContains(t, err, "too short")
	require.False(t, Hash{}.matches(""))
	again, err := ofPassword("a", few)
	require.NoError(t, err)
	once, err := ofPassword("a", few)
	require.NoError(t, err)
	require.NotEqual(t, once, again, "each hash has a salt of its own")
}

func TestInvalidHashes(t *testing.T) {
	t.Parallel()
	zero := base64.RawStdEncoding.EncodeToString(make([]byte, 32))
	for _, text := range []string{
		"", "hunter2", "sha256$", "sha256$00", "md5$00", "pbkdf2-sha256$", "pbkdf2-sha256$600000$" + zero, "pbkdf2-sha256$x$" + zero + "$" + zero,
		"pbkdf2-sha256$600000$AA$" + zero, "pbkdf2-sha256$600000$" + zero + "$AA", "pbkdf2-sha256$600000$" + zero + "=$" + zero,
		"pbkdf2-sha256$1$" + zero + "$" + zero, "pbkdf2-sha256$99999999$" + zero + "$" + zero,
	} {
		_, err := Parse(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	a, b := cheap(t, "old", few), cheap(t, "new", few)
	book := NewBook(map[string][]Hash{"u": {a, b}, "v": {a}})
	require.True(t, book.Verify(t.Context(), here, "u", "old"))
	require.True(t, book.Verify(t.Context(), here, "u", "new"), "both secrets are accepted while one is replaced")
	require.True(t, book.Verify(t.Context(), here, "v", "old"))
	require.False(t, book.Verify(t.Context(), here, "v", "new"))
	require.False(t, book.Verify(t.Context(), here, "w", "old"))
	require.False(t, book.Verify(t.Context(), here, "u", strings.Repeat("x", MaxSecret+1)))
	started := time.Now()
	for range 1000 {
		require.True(t, book.Verify(t.Context(), here, "v", "old"))
	}
	require.Less(t, time.Since(started), 2*time.Second, "a password that was right is not hashed again")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, remote := range []string{"192.0.2.2:1", "192.0.2.3:1"} {
		leave, err := book.gate.Enter(t.Context(), remote)
		require.NoError(t, err)
		defer leave(false)
	}
	require.False(t, book.Verify(gone, here, "v", "new"), "the client has gone")
}

// A random secret is found without a slow hash; a password is not.
func TestRandomSecrets(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("r", 43)
	text, err := OfRandom(secret)
	require.NoError(t, err)
	random, err := Parse(text)
	require.NoError(t, err)
	book := NewBook(map[string][]Hash{"u": {cheap(t, "password", few), random}})
	require.True(t, book.Random("u", secret))
	require.False(t, book.Random("u", "password"))
	require.False(t, book.Random("u", ""))
	require.False(t, book.Random("v", secret))
}

// A wrong password takes as long as an unknown user, and a user with a cheaper hash as long as the
// most expensive one. The work is compared, and not the clock, which other tests disturb.
func TestFailuresTakeTheSameWork(t *testing.T) {
	t.Parallel()
	a, b := cheap(t, "a", 2*few), cheap(t, "b", few)
	random, err := OfRandom(strings.Repeat("r", 30))
	require.NoError(t, err)
	fast, err := Parse(random)
	require.NoError(t, err)
	book := NewBook(map[string][]Hash{"slow": {a}, "half": {b}, "fast": {fast}})
	spent := map[string]int{}
	for _, owner := range []string{"slow", "half", "fast", "unknown"} {
		counted := 0
		require.False(t, book.verify(owner, "wrong", func(iterations int) { counted += iterations }))
		spent[owner] = counted
	}
	for owner, n := range spent {
		require.Equal(t, 2*few, n, owner)
	}
}

func FuzzHash(f *testing.F) {
	text, err := ofPassword("p", minIterations)
	require.NoError(f, err)
	f.Add(text)
	f.Add("sha256$" + strings.Repeat("0", 64))
	f.Fuzz(func(t *testing.T, text string) {
		h, err := Parse(text)
		if err == nil {
			require.Len(t, h.sum, sha256.Size)
			require.LessOrEqual(t, h.iterations, maxIterations)
		}
	})
}
