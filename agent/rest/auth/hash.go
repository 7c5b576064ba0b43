package auth

import "github.com/jobagent/jobagent/agent/rest/auth/internal/hashed"

// MaxPassword bounds the length of a password or client secret, in bytes.
const MaxPassword = hashed.MaxSecret

// HashPassword returns the hash of a password for User.PasswordHash and Client.SecretHashes.
func HashPassword(password string) (string, error) { return hashed.OfPassword(password) }

// HashRandom returns the hash of a random secret. It is fast to verify, so the secret must have at
// least 128 random bits.
func HashRandom(secret string) (string, error) { return hashed.OfRandom(secret) }
