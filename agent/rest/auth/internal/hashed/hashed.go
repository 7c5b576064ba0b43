// Package hashed verifies passwords and client secrets of which only a hash is configured.
//
// A hash is one of these texts:
//
//	sha256$<64 hexadecimal digits>             for random secrets of at least 128 bits
//	pbkdf2-sha256$<iterations>$<salt>$<hash>   for passwords; salt and hash in unpadded base64
package hashed

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/agent/rest/internal/misses"
)

const (
	fast = "sha256"
	slow = "pbkdf2-sha256"
	// Iterations is the number of iterations of new hashes (OWASP Password Storage Cheat Sheet,
	// 2023).
	Iterations = 600_000
	// Fewer iterations than minIterations protect no password; more than maxIterations would let
	// one request take seconds.
	minIterations, maxIterations = 100_000, 5_000_000
	saltBytes                    = 16
	// MaxSecret bounds the length of a secret, in bytes.
	MaxSecret = 1024
	// MinRandom is the least length of a secret whose hash is of the fast kind.
	MinRandom = 22 // characters of base64 for 128 bits
)

// Hash is a parsed hash. The zero value matches no secret.
type Hash struct {
	iterations int // 0: the fast kind
	salt, sum  []byte
}

// errForm does not repeat the text, which may be the secret itself.
var errForm = errors.New("invalid hash: want sha256$… of a random secret, or pbkdf2-sha256$iterations$salt$hash")

// Parse parses the text of a hash.
func Parse(text string) (Hash, error) {
	kind, rest, _ := strings.Cut(text, "$")
	switch kind {
	case fast:
		sum, err := hex.DecodeString(rest)
		if err != nil || len(sum) != sha256.Size {
			return Hash{}, errForm
		}
		return Hash{sum: sum}, nil
	case slow:
		parts := strings.Split(rest, "$")
		if len(parts) != 3 {
			return Hash{}, errForm
		}
		iterations, err := strconv.Atoi(parts[0])
		salt, err2 := base64.RawStdEncoding.Strict().DecodeString(parts[1])
		sum, err3 := base64.RawStdEncoding.Strict().DecodeString(parts[2])
		if errors.Join(err, err2, err3) != nil || len(salt) < saltBytes || len(salt) > 64 || len(sum) != sha256.Size {
			return Hash{}, errForm
		}
		if iterations < minIterations || iterations > maxIterations {
			return Hash{}, fmt.Errorf("invalid hash: it has %d iterations, want %d to %d", iterations, minIterations, maxIterations)
		}
		return Hash{iterations: iterations, salt: salt, sum: sum}, nil
	default:
		return Hash{}, errForm
	}
}

// OfRandom returns the hash of a random secret.
func OfRandom(secret string) (string, error) {
	if len(secret) < MinRandom {
		return "", fmt.Errorf("the secret is too short for sha256: want at least %d random characters", MinRandom)
	}
	sum := sha256.Sum256([]byte(secret))
	return fast + "$" + hex.EncodeToString(sum[:]), nil
}

// OfPassword returns the hash of a password.
func OfPassword(password string) (string, error) { return ofPassword(password, Iterations) }

// ofPassword is OfPassword with a number of iterations.
func ofPassword(password string, iterations int) (string, error) {
	if password == "" || len(password) > MaxSecret {
		return "", fmt.Errorf("invalid password: want 1 to %d bytes", MaxSecret)
	}
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	sum, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return fmt.Sprintf("%s$%d$%s$%s", slow, iterations, base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum)), nil
}

func (h Hash) matches(secret string) bool {
	if h.sum == nil {
		return false
	}
	if h.iterations == 0 {
		sum := sha256.Sum256([]byte(secret))
		return subtle.ConstantTimeCompare(sum[:], h.sum) == 1
	}
	sum, err := pbkdf2.Key(sha256.New, secret, h.salt, h.iterations, sha256.Size)
	return err == nil && subtle.ConstantTimeCompare(sum, h.sum) == 1
}

// Book verifies the secrets of named owners. A wrong secret takes as long as an unknown owner, and
// as the slowest owner. It is safe for concurrent use.
type Book struct {
	owners map[string][]Hash
	cost   int          // iterations that each failure takes
	gate   *misses.Gate // bounds the hashes that are computed at a time

	// The last secret of each owner that was right, as HMAC under a key of the process: clients
	// of Basic send the password with each request.
	key   []byte
	mu    sync.Mutex
	right map[string][sha256.Size]byte
}

// NewBook returns a Book with hashes by owner. An owner with several hashes may use each secret,
// so that a secret can be replaced.
func NewBook(owners map[string][]Hash) *Book {
	// Of the two slots, networks with a wrong secret share one.
	b := &Book{owners: owners, gate: misses.NewGate(2, 1, 1, 1), key: make([]byte, sha256.Size), right: map[string][sha256.Size]byte{}}
	_, _ = rand.Read(b.key) // never fails
	for _, hashes := range owners {
		cost := 0
		for _, h := range hashes {
			cost += h.iterations
		}
		b.cost = max(b.cost, cost)
	}
	return b
}

// Random reports whether secret is one of the owner's random secrets, those with a hash of the fast
// kind. They cannot be guessed, so that the answer needs no brake and costs nothing.
func (b *Book) Random(owner, secret string) bool {
	ok := false
	for _, h := range b.owners[owner] {
		ok = len(secret) <= MaxSecret && h.iterations == 0 && h.matches(secret) || ok
	}
	return ok
}

// Verify reports whether secret is the owner's. remote is the sender's host:port. It stops waiting
// for its turn when ctx is done.
func (b *Book) Verify(ctx context.Context, remote, owner, secret string) bool {
	if len(secret) > MaxSecret {
		return false // says nothing about the owner
	}
	mac := hmac.New(sha256.New, b.key)
	mac.Write([]byte(secret))
	var sum [sha256.Size]byte
	mac.Sum(sum[:0])
	b.mu.Lock()
	last, known := b.right[owner]
	b.mu.Unlock()
	if known && subtle.ConstantTimeCompare(sum[:], last[:]) == 1 {
		return true
	}
	leave, err := b.gate.Enter(ctx, remote)
	if err != nil {
		return false
	}
	ok := false
	defer func() { leave(!ok) }()
	if ok = b.verify(owner, secret, func(int) {}); !ok {
		return false
	}
	b.mu.Lock()
	b.right[owner] = sum
	b.mu.Unlock()
	return true
}

// verify is Verify without memory. spent is told the iterations that are computed.
func (b *Book) verify(owner, secret string, spent func(iterations int)) bool {
	ok, rest := false, b.cost
	for _, h := range b.owners[owner] {
		ok = h.matches(secret) || ok // each hash is computed: which one matches must not show
		spent(h.iterations)
		rest -= h.iterations
	}
	if !ok && rest > 0 { // takes the time of the slowest owner
		_, _ = pbkdf2.Key(sha256.New, secret, b.key[:saltBytes], rest, sha256.Size)
		spent(rest)
	}
	return ok
}
